/*
purpose: from each GPU activity up to its launch, op and module, within its file.
    The op by External id, else the innermost op around the launch. The module around the launch; of
    a backward op the one around its forward op, by sequence number. A graph's replay has one launch
    for all its kernels and no ops: it stays unlinked.
grain: one row per activity of the GPU
keys: trace_no, event_no
columns:
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    has_launch | BOOLEAN | - | its launch is in the trace
    op_no | BIGINT | - | event number of the op, null where unproven
    op | VARCHAR | - | op
    module | VARCHAR | - | classes from the outermost module in
    flops | BIGINT | FLOP | FLOPs of the op, null where not known
    bytes | BIGINT | B | least bytes that the op moves, null where not known
    math_dtype | VARCHAR | - | number format of the op's FLOPs
*/
with forward_op as (
    select
        trace_no,
        sequence_number,
        event_no
    from (
        select
            *,
            row_number() over (
                partition by trace_no, sequence_number order by start_ns desc, event_no desc
            ) as forward_no
        from int_op
        where
            sequence_number is not null
            and not is_backward
    ) as numbered
    where forward_no = 1
),

-- Module of a launch: directly, or through the backward op's forward op.
moduled as (
    select
        direct.trace_no,
        direct.point_id as correlation,
        direct.frame_id as module_no,
        1 as choice
    from int_host_inner as direct
    where
        direct.point_kind = 'launch'
        and direct.frame_kind = 'module'
    union all
    select
        around.trace_no,
        around.point_id as correlation,
        forward_frame.frame_id as module_no,
        2 as choice
    from int_host_inner as around
    inner join int_op as backward_op
        on around.trace_no = backward_op.trace_no
        and around.frame_id = backward_op.event_no
    inner join forward_op
        on around.trace_no = forward_op.trace_no
        and backward_op.sequence_number = forward_op.sequence_number
    inner join int_host_inner as forward_frame
        on forward_op.trace_no = forward_frame.trace_no
        and forward_op.event_no = forward_frame.point_id
        and forward_frame.point_kind = 'op'
        and forward_frame.frame_kind = 'module'
    where
        around.point_kind = 'launch'
        and around.frame_kind = 'backward'
),

module_of as (
    select
        moduled.trace_no,
        moduled.correlation,
        module.module_path,
        row_number() over (
            partition by moduled.trace_no, moduled.correlation order by moduled.choice
        ) as choice_no
    from moduled
    inner join int_trace as trace
        on moduled.trace_no = trace.trace_no
    inner join stg_trace_annotation as module
        on trace.source_file = module.source_file
        and moduled.module_no = module.event_no
)

select
    work.trace_no,
    work.event_no,
    launch.correlation is not null as has_launch,
    coalesce(named.event_no, around.event_no) as op_no,
    coalesce(named.name, around.name) as op,
    case when not work.is_graph then module_of.module_path end as module,
    coalesce(named.flops, around.flops) as flops,
    coalesce(named.bytes, around.bytes) as bytes,
    coalesce(named.math_dtype, around.math_dtype) as math_dtype
from int_gpu_work as work
left join int_launch as launch
    on work.trace_no = launch.trace_no
    and work.correlation = launch.correlation
left join int_op as named
    on work.trace_no = named.trace_no
    and work.external_id = named.external_id
    and not work.is_graph
left join int_host_inner as inner_op
    on work.trace_no = inner_op.trace_no
    and work.correlation = inner_op.point_id
    and inner_op.point_kind = 'launch'
    and inner_op.frame_kind = 'op'
    and not work.is_graph
left join int_op as around
    on inner_op.trace_no = around.trace_no
    and inner_op.frame_id = around.event_no
    and named.event_no is null
left join module_of
    on work.trace_no = module_of.trace_no
    and work.correlation = module_of.correlation
    and module_of.choice_no = 1
