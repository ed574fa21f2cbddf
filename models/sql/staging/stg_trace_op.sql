/*
purpose: framework ops on the CPU
grain: one row per op
keys: source_file, event_no
columns:
    source_file | VARCHAR | - | file
    event_no | BIGINT | - | event in the file
    pid | BIGINT | - | process
    tid | BIGINT | - | thread
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    name | VARCHAR | - | op
    external_id | BIGINT | - | number of the op in the file
    sequence_number | BIGINT | - | ties a backward op to its forward op
    is_backward | BOOLEAN | - | names the thread of a forward op
    flops | BIGINT | FLOP | FLOPs by shapes; 0 where it does none, null where not known
    bytes | BIGINT | B | least bytes to move, null where not known
    math_dtype | VARCHAR | - | number format of its FLOPs
*/
select
    source_file,
    event_no,
    pid,
    tid,
    start_ns,
    end_ns,
    name,
    external_id,
    sequence_number,
    coalesce(fwd_thread_id, 0) > 0 as is_backward,
    flops,
    bytes,
    math_dtype
from trace_op
