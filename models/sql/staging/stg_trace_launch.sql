/*
purpose: calls of the host into the GPU's runtime or driver
grain: one row per call
keys: source_file, event_no
columns:
    source_file | VARCHAR | - | file
    event_no | BIGINT | - | event in the file
    pid | BIGINT | - | process
    tid | BIGINT | - | thread
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    name | VARCHAR | - | function
    correlation | BIGINT | - | ties to GPU work
    external_id | BIGINT | - | op that was running
*/
select
    source_file,
    event_no,
    pid,
    tid,
    start_ns,
    end_ns,
    name,
    correlation,
    external_id
from trace_launch
