-- The trace files: whose each is, how far it is linked, what is odd. Those with a fault come first.
with found as (
    select
        job.team,
        file.source_file,
        file.cluster,
        file.job_id,
        file.attempt,
        file.rank,
        file.found_by,
        file.is_clock_ok,
        file.is_job_clash,
        file.is_host_clash,
        file.step_count,
        file.launch_linked_ratio,
        file.op_linked_ratio,
        file.module_linked_ratio,
        file.collective_matched_ratio,
        file.traced_step_ratio,
        file.unfit,
        file.reject_count,
        file.is_truncated
    from trace_file as file
    left join job_cost as job
        on job.month = $month
        and file.cluster = job.cluster
        and file.job_id = job.job_id
        and file.attempt = job.attempt
    where file.month = $month
)

select
    team,
    source_file,
    cluster,
    job_id,
    attempt,
    rank,
    found_by,
    is_clock_ok,
    is_job_clash,
    is_host_clash,
    step_count,
    launch_linked_ratio,
    op_linked_ratio,
    module_linked_ratio,
    collective_matched_ratio,
    traced_step_ratio,
    unfit,
    reject_count,
    is_truncated
from found
order by
    job_id is null desc,
    is_truncated desc,
    reject_count > 0 desc,
    coalesce(unfit, false) desc,
    coalesce(is_clock_ok, false),
    cluster,
    length(job_id),
    job_id,
    attempt,
    rank,
    source_file
