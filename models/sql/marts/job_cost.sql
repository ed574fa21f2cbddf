/*
purpose: what each attempt of a job cost in the month, its energy and its MFU over the held time.
    mfu_ratio = model FLOPs / (held GPU-time x dense peak); energy is the counter's difference over
    the time that it covers.
grain: one row per month and attempt that held a GPU
keys: month, cluster, job_id, attempt
columns:
    month | DATE | - | month
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    team | VARCHAR | - | team
    account | VARCHAR | - | scheduler account
    user_name | VARCHAR | - | user, perhaps hashed
    job_name | VARCHAR | - | job name
    state | VARCHAR | - | state
    gpu_count | BIGINT | GPUs | GPUs held
    gpu_ns | BIGINT | ns | billed GPU-time
    gpu_hours | DECIMAL(38,12) | GPU-h | billed GPU-time in hours, rounded
    billed_usd | DECIMAL(38,12) | USD | billed cost
    effective_usd | DECIMAL(38,12) | USD | effective cost
    list_usd | DECIMAL(38,12) | USD | list cost of the lines that give one
    energy_kwh | DOUBLE | kWh | energy of its GPUs, null where no counter tells
    energy_observed_ns | BIGINT | ns | GPU-time that energy_kwh covers
    energy_usd | DECIMAL(38,12) | USD | energy at the configured price, null without one
    mfu_ratio | DOUBLE | ratio | MFU of scope allocated, null without steps or peak
*/
with cost as (
    select
        month,
        cluster,
        job_id,
        attempt,
        cast(sum(gpu_ns) as bigint) as gpu_ns,
        cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
        cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
        cast(sum(list_usd) as decimal(38, 12)) as list_usd
    from allocation
    where job_id is not null
    group by
        month,
        cluster,
        job_id,
        attempt
),

energy as (
    select
        hour_of.month,
        hold.cluster,
        hold.job_id,
        hold.attempt,
        cast(sum(activity.energy_mj) as bigint) as energy_mj,
        cast(sum(activity.energy_ns) as bigint) as energy_ns
    from int_activity as activity
    inner join int_hold as hold
        on activity.hold_id = hold.hold_id
    inner join run_hour as hour_of
        on activity.hour_id = hour_of.hour_id
    group by
        hour_of.month,
        hold.cluster,
        hold.job_id,
        hold.attempt
)

select
    cost.month,
    cost.cluster,
    cost.job_id,
    cost.attempt,
    job.team,
    job.account,
    job.user_name,
    job.job_name,
    job.state,
    job.gpu_count,
    cost.gpu_ns,
    cast(cast(cost.gpu_ns as double) / cast(3600000000000 as double) as decimal(38, 12))
        as gpu_hours,
    cost.billed_usd,
    cost.effective_usd,
    cost.list_usd,
    case
        when energy.energy_ns > 0
            then cast(energy.energy_mj as double) / cast(3600000000 as double)
    end as energy_kwh,
    coalesce(energy.energy_ns, 0) as energy_observed_ns,
    case
        when energy.energy_ns > 0
            then cast(
                cast(energy.energy_mj as decimal(24, 0)) * setting.energy_usd_per_mj
                as decimal(38, 12)
            )
    end as energy_usd,
    ladder.mfu_ratio
from cost
cross join run_setting as setting
inner join int_attempt as job
    on cost.cluster = job.cluster
    and cost.job_id = job.job_id
    and cost.attempt = job.attempt
left join energy
    on cost.month = energy.month
    and cost.cluster = energy.cluster
    and cost.job_id = energy.job_id
    and cost.attempt = energy.attempt
left join efficiency_ladder as ladder
    on cost.month = ladder.month
    and cost.cluster = ladder.cluster
    and cost.job_id = ladder.job_id
    and cost.attempt = ladder.attempt
    and ladder.scope = 'allocated'
    and ladder.rank is null
