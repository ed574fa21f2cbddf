-- The traced ranks of the attempts that waited, those that others waited for first.
with attempt as (
    select distinct
        cluster,
        job_id,
        attempt
    from gpu_hour_state
    where month = $month and payer_team = $team and bucket = 'comm_wait'
)

select
    count(*) over () as row_count,
    late.cluster,
    late.job_id,
    late.attempt,
    late.rank,
    late.gpu_uuid,
    late.node,
    late.wait_caused_gpu_ns,
    late.wait_caused_usd,
    late.slowdown_ratio
from straggler_rank as late
inner join attempt
    on late.cluster = attempt.cluster
    and late.job_id = attempt.job_id
    and late.attempt = attempt.attempt
where late.month = $month
order by
    late.wait_caused_usd desc,
    late.wait_caused_gpu_ns desc,
    late.cluster,
    late.job_id,
    late.attempt,
    late.rank,
    late.gpu_uuid
limit $top
