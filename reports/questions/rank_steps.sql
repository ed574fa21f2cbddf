-- Where a traced step goes on average, per rank, beside the job's normal step.
with trace as (
    select
        cluster,
        job_id,
        attempt,
        rank,
        max(traced_step_ratio) as traced_step_ratio
    from trace_file
    where month = $month
    group by
        cluster,
        job_id,
        attempt,
        rank
),

step as (
    select
        cluster,
        job_id,
        attempt,
        rank,
        gpu_uuid,
        count(*) as step_count,
        cast(sum(step_ns) as double) / count(*) as step_ns,
        cast(sum(compute_ns) as double) / count(*) as compute_ns,
        cast(sum(comm_wait_ns) as double) / count(*) as comm_wait_ns,
        cast(sum(comm_exposed_ns) as double) / count(*) as comm_exposed_ns,
        cast(sum(copy_exposed_ns) as double) / count(*) as copy_exposed_ns,
        cast(sum(data_stall_ns) as double) / count(*) as data_stall_ns,
        cast(sum(launch_gap_ns) as double) / count(*) as launch_gap_ns,
        cast(sum(host_sync_ns) as double) / count(*) as host_sync_ns,
        cast(sum(pipeline_bubble_ns) as double) / count(*) as pipeline_bubble_ns,
        cast(sum(gap_unknown_ns) as double) / count(*) as gap_unknown_ns,
        bool_or(unfit) as unfit
    from step_breakdown
    where month = $month
    group by
        cluster,
        job_id,
        attempt,
        rank,
        gpu_uuid
)

select
    job.team,
    step.cluster,
    step.job_id,
    step.attempt,
    job.job_name,
    step.rank,
    step.gpu_uuid,
    step.step_count,
    step.step_ns,
    step.step_ns / nullif(trace.traced_step_ratio, 0) as normal_step_ns,
    step.compute_ns,
    step.comm_wait_ns,
    step.comm_exposed_ns,
    step.copy_exposed_ns,
    step.data_stall_ns,
    step.launch_gap_ns,
    step.host_sync_ns,
    step.pipeline_bubble_ns,
    step.gap_unknown_ns,
    step.unfit,
    job.effective_usd
from step
left join job_cost as job
    on job.month = $month
    and step.cluster = job.cluster
    and step.job_id = job.job_id
    and step.attempt = job.attempt
left join trace
    on step.cluster = trace.cluster
    and step.job_id = trace.job_id
    and step.attempt = trace.attempt
    and step.rank is not distinct from trace.rank
order by
    effective_usd desc nulls last,
    cluster,
    job_id,
    attempt,
    rank,
    gpu_uuid
