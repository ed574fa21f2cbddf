-- The trace files of the bucket's attempts: whose each is, how far it is linked, what is odd.
with attempt as (
    select distinct
        cluster,
        job_id,
        attempt
    from gpu_hour_state
    where month = $month and payer_team = $team and bucket = $bucket
)

select
    count(*) over () as row_count,
    file.cluster,
    file.job_id,
    file.attempt,
    file.rank,
    file.found_by,
    file.is_job_clash,
    file.is_host_clash,
    file.is_clock_ok,
    file.step_count,
    file.launch_linked_ratio,
    file.op_linked_ratio,
    file.module_linked_ratio,
    file.graph_count,
    file.collective_matched_ratio,
    file.traced_step_ratio,
    file.unfit,
    file.reject_count,
    file.is_truncated,
    file.copy_count,
    file.source_file
from trace_file as file
inner join attempt
    on file.cluster = attempt.cluster
    and file.job_id = attempt.job_id
    and file.attempt = attempt.attempt
where file.month = $month
order by
    file.cluster,
    length(file.job_id),
    file.job_id,
    file.attempt,
    file.rank,
    file.source_file
limit $top
