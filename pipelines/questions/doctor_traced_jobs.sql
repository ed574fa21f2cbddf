-- Attempts whose traces do not speak for all of their time inside steps.
with fit as (
    select
        cluster,
        job_id,
        attempt,
        max(traced_step_ratio) as traced_step_ratio,
        bool_or(unfit) as unfit,
        count(distinct case when step_count > 0 then gpu_uuid end) as traced_count
    from trace_file
    where job_id is not null
    group by
        cluster,
        job_id,
        attempt
),

held as (
    select
        cluster,
        job_id,
        attempt,
        count(distinct gpu_uuid) as gpu_count,
        cast(
            sum(case when method_id = 'in_step_trace_unfit' then effective_usd else 0 end)
            as decimal(38, 2)
        ) as unfit_usd,
        cast(
            sum(case when bucket = 'busy_unsplit' then effective_usd else 0 end) as decimal(38, 2)
        ) as unsplit_usd
    from gpu_hour_state
    where job_id is not null
    group by
        cluster,
        job_id,
        attempt
),

job as (
    select
        concat(held.cluster, '/', held.job_id, ' attempt ', cast(held.attempt as varchar))
            as subject,
        held.gpu_count,
        held.unfit_usd,
        held.unsplit_usd,
        fit.traced_step_ratio,
        fit.unfit,
        fit.traced_count
    from held
    inner join fit
        on held.cluster = fit.cluster
        and held.job_id = fit.job_id
        and held.attempt = fit.attempt
),

found as (
    select
        'unfit' as finding,
        subject,
        concat(
            case
                when traced_step_ratio is null then 'no normal step is known'
                else concat(
                    'traced steps take ',
                    cast(cast(traced_step_ratio as decimal(18, 2)) as varchar),
                    ' of a normal step'
                )
            end,
            ', ', cast(unfit_usd as varchar), ' USD inside steps'
        ) as detail,
        unfit_usd as weight
    from job
    where unfit
    union all
    select
        'some_ranks' as finding,
        subject,
        concat(
            cast(traced_count as varchar), ' of ', cast(gpu_count as varchar), ' GPUs, ',
            cast(unsplit_usd as varchar), ' USD in busy_unsplit'
        ) as detail,
        unsplit_usd as weight
    from job
    where traced_count between 1 and gpu_count - 1
)

select
    finding,
    subject,
    detail
from found
order by
    weight desc,
    subject
