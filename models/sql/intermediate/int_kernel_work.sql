/*
purpose: each traced GPU activity with its part of its op's FLOPs and bytes, and what a roofline from
    those makes of its time.
    An op of several kernels gives each a part by duration. Time at peak = FLOPs / dense peak of the
    number format (seed gpu_peak), time at full bandwidth = bytes / bandwidth (seed gpu_memory).
grain: one row per activity of the GPU
keys: trace_no, event_no
columns:
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    hold_id | BIGINT | - | hold
    family | VARCHAR | - | kernel family
    op | VARCHAR | - | op, null where unproven
    module | VARCHAR | - | module, null where unproven
    run_ns | BIGINT | ns | duration
    flops | BIGINT | FLOP | its part of the op's FLOPs, null where not known
    bytes | BIGINT | B | its part of the op's bytes, null where not known
    flops_ns | BIGINT | ns | FLOPs at peak, null where FLOPs or peak are not known
    bytes_ns | BIGINT | ns | bytes at full bandwidth, null where bytes or bandwidth are not known
*/
with linked as (
    select
        work.trace_no,
        work.event_no,
        work.hold_id,
        work.kind,
        work.family,
        link.op,
        link.module,
        work.end_ns - work.start_ns as run_ns,
        case when work.kind = 'compute' then link.flops end as op_flops,
        case when work.kind = 'compute' then link.bytes end as op_bytes,
        case
            when link.math_dtype = 'fp32' and work.is_tf32 then 'tf32'
            else link.math_dtype
        end as math_dtype,
        cast(
            sum(work.end_ns - work.start_ns) over (
                partition by work.trace_no, link.op_no, work.kind
            ) as bigint
        ) as op_ns
    from int_gpu_work as work
    inner join int_kernel_op as link
        on work.trace_no = link.trace_no
        and work.event_no = link.event_no
),

part as (
    select
        linked.*,
        hold.gpu_model,
        cast(cast(op_flops as hugeint) * run_ns // op_ns as bigint) as flops,
        cast(cast(op_bytes as hugeint) * run_ns // op_ns as bigint) as bytes
    from linked
    inner join int_hold as hold
        on linked.hold_id = hold.hold_id
)

select
    part.trace_no,
    part.event_no,
    part.hold_id,
    part.family,
    part.op,
    part.module,
    part.run_ns,
    part.flops,
    part.bytes,
    case
        when part.flops = 0 then 0
        else cast(cast(part.flops as hugeint) * 1000000000 // peak.peak_flop_s as bigint)
    end as flops_ns,
    cast(cast(part.bytes as hugeint) * 1000000000 // memory.bytes_per_s as bigint) as bytes_ns
from part
left join gpu_peak as peak
    on part.gpu_model = peak.gpu_model
    and part.math_dtype = peak.dtype
left join gpu_memory as memory
    on part.gpu_model = memory.gpu_model
