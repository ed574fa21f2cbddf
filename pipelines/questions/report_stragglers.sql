-- The ranks that other ranks waited for, the dearest first; unfit: their traces do not speak for the
-- whole job.
with fit as (
    select
        cluster,
        job_id,
        attempt,
        bool_or(unfit) as unfit
    from step_breakdown
    group by
        cluster,
        job_id,
        attempt
)

select
    count(*) over () as row_count,
    late.cluster,
    late.job_id,
    late.attempt,
    late.rank,
    late.team,
    late.gpu_uuid,
    late.node,
    late.wait_caused_gpu_ns,
    late.wait_caused_usd,
    late.slowdown_ratio,
    coalesce(fit.unfit, false) as unfit
from straggler_rank as late
left join fit
    on late.cluster = fit.cluster
    and late.job_id = fit.job_id
    and late.attempt = fit.attempt
where late.month = $month and late.wait_caused_gpu_ns > 0
order by
    late.wait_caused_usd desc,
    late.wait_caused_gpu_ns desc,
    late.cluster,
    late.job_id,
    late.attempt,
    late.rank,
    late.gpu_uuid
limit $top
