/*
purpose: trace files: whose each is and how that was found, how far its work is linked, and what is
    wrong with it
grain: one row per trace
keys: month, source_file
columns:
    month | DATE | - | month in which it begins
    source_file | VARCHAR | - | file
    cluster | VARCHAR | - | cluster, null where unmatched
    job_id | VARCHAR | - | job, null where unmatched
    attempt | BIGINT | - | attempt, null where unmatched
    rank | BIGINT | - | rank, null where nothing tells
    gpu_uuid | VARCHAR | - | its GPU, null where none is found; of several the first
    found_by | VARCHAR | - | metadata, path, host_time, ambiguous or unmatched
    is_job_clash | BOOLEAN | - | metadata and path name two jobs, attempts or ranks: metadata count
    is_host_clash | BOOLEAN | - | host of the file and node of the attempt have two names
    is_clock_ok | BOOLEAN | - | lies wholly inside the attempt, null where unmatched
    start_ns | BIGINT | ns | start of the earliest event, epoch
    end_ns | BIGINT | ns | end of the latest event, epoch
    step_count | BIGINT | steps | traced steps that count
    event_count | BIGINT | events | events of the file
    gpu_count | BIGINT | events | activities of the GPU
    launch_linked_ratio | DOUBLE | ratio | activities whose launch is known, of gpu_count
    op_linked_ratio | DOUBLE | ratio | activities whose op is known
    module_linked_ratio | DOUBLE | ratio | activities whose module is known
    launch_lost_ratio | DOUBLE | ratio | kernel launches of which no work of the GPU is in the trace: the profiler lost it
    graph_count | BIGINT | events | activities that a graph replayed: they have no op
    collective_count | BIGINT | events | collectives
    collective_matched_ratio | DOUBLE | ratio | collectives whose every participant is known
    traced_step_ratio | DOUBLE | ratio | traced step / normal step: what the profiler costs
    unfit | BOOLEAN | - | the attempt's traced steps do not fit its other steps, null without steps
    reject_count | BIGINT | events | events that could not be read
    is_truncated | BOOLEAN | - | the file ends inside its events, or says that some are missing
    copy_count | BIGINT | files | files that hold this trace
*/
with linked as (
    select
        link.trace_no,
        count(*) as work_count,
        count(*) filter (where link.has_launch) as launch_count,
        count(link.op_no) as op_count,
        count(link.module) as module_count,
        count(*) filter (where work.is_graph) as graph_count
    from int_kernel_op as link
    inner join int_gpu_work as work
        on link.trace_no = work.trace_no
        and link.event_no = work.event_no
    group by link.trace_no
),

matched as (
    select
        trace_no,
        count(*) as collective_count,
        count(*) filter (where is_matched) as matched_count
    from int_collective_call
    group by trace_no
),

gpu as (
    select
        device.trace_no,
        min(hold.gpu_uuid) as gpu_uuid,
        max(fit.traced_step_ns) as traced_step_ns,
        max(fit.normal_step_ns) as normal_step_ns,
        bool_or(fit.is_unfit_attempt) as unfit
    from int_trace_device as device
    inner join int_hold as hold
        on device.hold_id = hold.hold_id
    left join int_trace_fit as fit
        on device.hold_id = fit.hold_id
    group by device.trace_no
),

stepped as (
    select
        trace_no,
        count(*) as step_count
    from int_trace_step
    group by trace_no
)

select
    hour_of.month,
    trace.source_file,
    trace.cluster,
    trace.job_id,
    trace.attempt,
    trace.rank,
    gpu.gpu_uuid,
    trace.found_by,
    trace.is_job_clash,
    trace.is_host_clash,
    trace.is_clock_ok,
    trace.start_ns,
    trace.end_ns,
    coalesce(stepped.step_count, 0) as step_count,
    header.event_count,
    header.gpu_count,
    case
        when linked.work_count > 0
            then cast(linked.launch_count as double) / cast(linked.work_count as double)
    end as launch_linked_ratio,
    case
        when linked.work_count > 0
            then cast(linked.op_count as double) / cast(linked.work_count as double)
    end as op_linked_ratio,
    case
        when linked.work_count > 0
            then cast(linked.module_count as double) / cast(linked.work_count as double)
    end as module_linked_ratio,
    case
        when loss.launch_count > 0
            then cast(loss.lost_count as double) / cast(loss.launch_count as double)
    end as launch_lost_ratio,
    coalesce(linked.graph_count, 0) as graph_count,
    coalesce(matched.collective_count, 0) as collective_count,
    case
        when matched.collective_count > 0
            then cast(matched.matched_count as double) / cast(matched.collective_count as double)
    end as collective_matched_ratio,
    case
        when gpu.normal_step_ns > 0
            then cast(gpu.traced_step_ns as double) / cast(gpu.normal_step_ns as double)
    end as traced_step_ratio,
    gpu.unfit,
    header.reject_count,
    header.is_truncated,
    header.copy_count
from int_trace as trace
inner join stg_trace_header as header
    on trace.source_file = header.source_file
inner join run_hour as hour_of
    on trace.start_ns // 3600000000000 = hour_of.hour_id
left join linked
    on trace.trace_no = linked.trace_no
left join int_trace_loss as loss
    on trace.trace_no = loss.trace_no
left join matched
    on trace.trace_no = matched.trace_no
left join gpu
    on trace.trace_no = gpu.trace_no
left join stepped
    on trace.trace_no = stepped.trace_no
