/*
purpose: traced steps by bucket, whole and clipped to the logged step
grain: one row per traced step and bucket
keys: window_id, bucket
columns:
    window_id | BIGINT | - | traced step
    trace_no | BIGINT | - | trace
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | bucket
    traced_ns | BIGINT | ns | time inside the profiler's step
    logged_ns | BIGINT | ns | part of it inside the logged step
*/
select
    window_id,
    trace_no,
    hold_id,
    bucket,
    cast(sum(end_ns - start_ns) as bigint) as traced_ns,
    cast(coalesce(sum(case when is_logged then end_ns - start_ns end), 0) as bigint) as logged_ns
from int_trace_piece
group by
    window_id,
    trace_no,
    hold_id,
    bucket
