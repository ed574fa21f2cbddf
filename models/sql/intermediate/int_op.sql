/*
purpose: framework ops of traces that are somebody's, one per number in the file
grain: one row per trace and op
keys: trace_no, event_no
columns:
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    pid | BIGINT | - | process
    tid | BIGINT | - | thread
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    name | VARCHAR | - | op
    external_id | BIGINT | - | number of the op, null where the file gives it twice
    sequence_number | BIGINT | - | ties a backward op to its forward op
    is_backward | BOOLEAN | - | names the thread of a forward op
    flops | BIGINT | FLOP | FLOPs by shapes
    bytes | BIGINT | B | least bytes to move, by shapes
    math_dtype | VARCHAR | - | number format of its FLOPs
*/
select
    trace.trace_no,
    op.event_no,
    op.pid,
    op.tid,
    op.start_ns,
    op.end_ns,
    op.name,
    case
        when count(*) over (partition by trace.trace_no, op.external_id) = 1 then op.external_id
    end as external_id,
    op.sequence_number,
    op.is_backward,
    op.flops,
    op.bytes,
    op.math_dtype
from int_trace as trace
inner join stg_trace_op as op
    on trace.source_file = op.source_file
where trace.job_id is not null
