-- The traced steps of the bucket's attempts that have time in it, the longest first.
with attempt as (
    select distinct
        cluster,
        job_id,
        attempt
    from gpu_hour_state
    where month = $month and payer_team = $team and bucket = $bucket
),

step as (
    select
        *,
        case $bucket
            when 'compute' then compute_ns
            when 'comm_wait' then comm_wait_ns
            when 'comm_exposed' then comm_exposed_ns
            when 'copy_exposed' then copy_exposed_ns
            when 'data_stall' then data_stall_ns
            when 'launch_gap' then launch_gap_ns
            when 'host_sync' then host_sync_ns
            when 'pipeline_bubble' then pipeline_bubble_ns
            when 'gap_unknown' then gap_unknown_ns
        end as bucket_ns
    from step_breakdown
    where month = $month
)

select
    count(*) over () as row_count,
    step.cluster,
    step.job_id,
    step.attempt,
    step.rank,
    step.step,
    step.gpu_uuid,
    step.start_ns,
    step.step_ns,
    step.bucket_ns
from step
inner join attempt
    on step.cluster = attempt.cluster
    and step.job_id = attempt.job_id
    and step.attempt = attempt.attempt
where step.bucket_ns > 0
order by
    step.bucket_ns desc,
    step.start_ns,
    step.gpu_uuid
limit $top
