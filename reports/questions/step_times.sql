-- How long the logged steps of each traced attempt took, in at most 80 parts of the attempt; a step
-- of several ranks takes as long as its slowest.
with traced as (
    select distinct
        cluster,
        job_id,
        attempt
    from step_breakdown
    where month = $month
),

logged as (
    select
        traced.cluster,
        traced.job_id,
        traced.attempt,
        log.step,
        max(log.end_ns - log.start_ns) as step_ns
    from traced
    inner join train_step as log
        on traced.job_id = log.job_id
        and (log.cluster is null or traced.cluster = log.cluster)
        and (log.attempt is null or traced.attempt = log.attempt)
    group by
        traced.cluster,
        traced.job_id,
        traced.attempt,
        log.step
),

parted as (
    select
        *,
        ntile(80) over (partition by cluster, job_id, attempt order by step) as part
    from logged
)

select
    job.team,
    parted.cluster,
    parted.job_id,
    parted.attempt,
    parted.part,
    min(parted.step) as first_step,
    max(parted.step) as last_step,
    count(*) as step_count,
    cast(sum(parted.step_ns) as double) / count(*) as step_ns,
    max(job.effective_usd) as effective_usd
from parted
left join job_cost as job
    on job.month = $month
    and parted.cluster = job.cluster
    and parted.job_id = job.job_id
    and parted.attempt = job.attempt
group by
    job.team,
    parted.cluster,
    parted.job_id,
    parted.attempt,
    parted.part
order by
    effective_usd desc nulls last,
    cluster,
    job_id,
    attempt,
    part
