/*
purpose: a job of several ranks whose traced steps show kernels and no collective at all: then the
    names of its collectives are not known, and its waiting would pass for compute. A trace that was
    not read whole proves nothing: the collectives may be in what is missing.
level: blocking
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    world_size | BIGINT | ranks | ranks as the processes know them
    kernels | BIGINT | kernels | traced kernels
*/
select
    trace.cluster,
    trace.job_id,
    trace.attempt,
    max(trace.world_size) as world_size,
    count(*) as kernels
from int_trace as trace
inner join stg_trace_header as header
    on trace.source_file = header.source_file
inner join int_trace_step as step
    on trace.trace_no = step.trace_no
inner join int_gpu_work as work
    on step.trace_no = work.trace_no
    and step.hold_id = work.hold_id
    and work.start_ns < step.end_ns
    and work.end_ns > step.start_ns
where
    trace.world_size > 1
    and not header.is_truncated
    and header.reject_count = 0
    and work.kind in ('compute', 'comm')
group by
    trace.cluster,
    trace.job_id,
    trace.attempt
having count(*) filter (where work.kind = 'comm') = 0
