-- Attempts that held more GPUs than are known: whichever they were may look unallocated to nobody.
with known as (
    select
        cluster,
        job_id,
        attempt,
        count(distinct gpu_uuid) as gpu_count
    from gpu_hour_state
    where job_id is not null
    group by
        cluster,
        job_id,
        attempt
),

short as (
    select
        concat(cost.cluster, '/', cost.job_id, ' attempt ', cast(cost.attempt as varchar))
            as subject,
        cost.gpu_count,
        known.gpu_count as known_count
    from job_cost as cost
    inner join known
        on cost.cluster = known.cluster
        and cost.job_id = known.job_id
        and cost.attempt = known.attempt
    where known.gpu_count < cost.gpu_count
),

billed as (
    select
        min(charge_period_start) as start,
        max(charge_period_end) as "end"
    from bill_line
    where charge_category = 'Usage'
),

unseen as (
    select
        concat(job.cluster, '/', job.job_id) as subject,
        max(job.gpu_count) as gpu_count,
        0 as known_count
    from job_attempt as job
    cross join billed
    left join known
        on job.cluster = known.cluster
        and job.job_id = known.job_id
    where
        known.job_id is null
        and job.gpu_count > 0
        and job.start < billed."end"
        and coalesce(job."end", billed."end") > billed.start
        and job.start is distinct from job."end"
    group by
        job.cluster,
        job.job_id
),

found as (
    select * from short
    union all
    select * from unseen
)

select
    subject,
    concat(
        'held ', cast(gpu_count as varchar), ' GPUs, of which ', cast(known_count as varchar),
        ' are known and billed'
    ) as detail
from found
order by
    gpu_count - known_count desc,
    subject
