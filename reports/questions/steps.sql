-- Each traced step of each rank, by bucket; the dearest job first.
select
    job.team,
    step.cluster,
    step.job_id,
    step.attempt,
    job.job_name,
    step.rank,
    step.step,
    step.gpu_uuid,
    step.start_ns,
    step.step_ns,
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
from step_breakdown as step
left join job_cost as job
    on job.month = $month
    and step.cluster = job.cluster
    and step.job_id = job.job_id
    and step.attempt = job.attempt
where step.month = $month
order by
    effective_usd desc nulls last,
    cluster,
    job_id,
    attempt,
    start_ns,
    rank,
    gpu_uuid
