/*
purpose: where each traced step went, per rank. The window is the profiler's step, the number is the
    job's own log's. The parts sum to step_ns.
grain: one row per attempt, rank and traced step
keys: cluster, job_id, attempt, rank, start_ns, gpu_uuid
columns:
    month | DATE | - | month in which the step began
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    rank | BIGINT | - | rank of the GPU within the attempt
    step | BIGINT | - | number of the step by the job's log, null without a log
    gpu_uuid | VARCHAR | - | GPU
    start_ns | BIGINT | ns | start, epoch
    step_ns | BIGINT | ns | length of the profiler's step
    compute_ns | BIGINT | ns | a kernel runs that is no collective
    comm_wait_ns | BIGINT | ns | only collectives run, before their last participant has begun
    comm_exposed_ns | BIGINT | ns | only collectives run, after that, or not matched
    copy_exposed_ns | BIGINT | ns | only copies and fills run
    data_stall_ns | BIGINT | ns | nothing runs, the step's thread loads data
    launch_gap_ns | BIGINT | ns | nothing runs, the host works or has called for the next work
    host_sync_ns | BIGINT | ns | nothing runs since the host waited for the GPU
    pipeline_bubble_ns | BIGINT | ns | nothing runs, the schedule says that the stage waits
    gap_unknown_ns | BIGINT | ns | nothing runs, and the host shows no reason
    unfit | BOOLEAN | - | the attempt's traced steps do not fit its other steps
    source_file | VARCHAR | - | trace file
checks:
    parts_sum_to_step | blocking | compute_ns + comm_wait_ns + comm_exposed_ns + copy_exposed_ns + data_stall_ns + launch_gap_ns + host_sync_ns + pipeline_bubble_ns + gap_unknown_ns = step_ns
*/
with wide as (
    select
        window_id,
        cast(sum(case when bucket = 'compute' then traced_ns else 0 end) as bigint) as compute_ns,
        cast(sum(case when bucket = 'comm_wait' then traced_ns else 0 end) as bigint)
            as comm_wait_ns,
        cast(sum(case when bucket = 'comm_exposed' then traced_ns else 0 end) as bigint)
            as comm_exposed_ns,
        cast(sum(case when bucket = 'copy_exposed' then traced_ns else 0 end) as bigint)
            as copy_exposed_ns,
        cast(sum(case when bucket = 'data_stall' then traced_ns else 0 end) as bigint)
            as data_stall_ns,
        cast(sum(case when bucket = 'launch_gap' then traced_ns else 0 end) as bigint)
            as launch_gap_ns,
        cast(sum(case when bucket = 'host_sync' then traced_ns else 0 end) as bigint)
            as host_sync_ns,
        cast(sum(case when bucket = 'pipeline_bubble' then traced_ns else 0 end) as bigint)
            as pipeline_bubble_ns,
        cast(sum(case when bucket = 'gap_unknown' then traced_ns else 0 end) as bigint)
            as gap_unknown_ns
    from int_trace_bucket
    group by window_id
)

select
    hour_of.month,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    hold.rank,
    step.step,
    hold.gpu_uuid,
    step.start_ns,
    step.end_ns - step.start_ns as step_ns,
    wide.compute_ns,
    wide.comm_wait_ns,
    wide.comm_exposed_ns,
    wide.copy_exposed_ns,
    wide.data_stall_ns,
    wide.launch_gap_ns,
    wide.host_sync_ns,
    wide.pipeline_bubble_ns,
    wide.gap_unknown_ns,
    fit.is_unfit_attempt as unfit,
    trace.source_file
from int_trace_step as step
inner join wide
    on step.window_id = wide.window_id
inner join int_hold as hold
    on step.hold_id = hold.hold_id
inner join int_trace as trace
    on step.trace_no = trace.trace_no
inner join int_trace_fit as fit
    on step.hold_id = fit.hold_id
inner join run_hour as hour_of
    on step.start_ns // 3600000000000 = hour_of.hour_id
