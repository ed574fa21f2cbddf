/*
purpose: billed GPU-hours and dollars per team, bucket, class and cause, with bounds and evidence.
    Strict waste, step inefficiency and overhead are classes apart: they are not to be added.
    Lows and highs bound each row alone and do not sum to a bound of the total.
grain: one row per month, team, bucket, class and cause
keys: month, team, bucket, waste_class, cause
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that holds the time and pays
    bucket | VARCHAR | - | bucket
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    cause | VARCHAR | - | whose doing it is
    gpu_ns | DECIMAL(38,0) | ns | billed GPU-time
    gpu_hours | DECIMAL(38,12) | GPU-h | billed GPU-time in hours, rounded
    low_gpu_hours | DECIMAL(38,12) | GPU-h | low bound
    high_gpu_hours | DECIMAL(38,12) | GPU-h | high bound
    billed_usd | DECIMAL(38,12) | USD | billed cost
    effective_usd | DECIMAL(38,12) | USD | effective cost
    list_usd | DECIMAL(38,12) | USD | list cost of the lines that give one
    share_of_bill_ratio | DOUBLE | ratio | effective cost over invoice_effective_usd
    invoice_effective_usd | DECIMAL(38,12) | USD | effective cost of the whole month
    evidence_grade | VARCHAR | - | the worst grade of its rows
    measured_share_ratio | DOUBLE | ratio | measured_gpu_ns over gpu_ns, null where that is 0
    measured_gpu_ns | DECIMAL(38,0) | ns | observed time whose bounds equal its point
checks:
    time_not_negative | blocking | gpu_ns >= 0
*/
with total as (
    select
        month,
        cast(sum(effective_usd) as decimal(38, 12)) as invoice_effective_usd
    from gpu_hour_state
    group by month
),

grouped as (
    select
        month,
        payer_team as team,
        bucket,
        waste_class,
        cause,
        cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns,
        cast(sum(low_gpu_ns) as decimal(38, 0)) as low_gpu_ns,
        cast(sum(high_gpu_ns) as decimal(38, 0)) as high_gpu_ns,
        cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
        cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
        cast(sum(list_usd) as decimal(38, 12)) as list_usd,
        min(evidence_grade) as evidence_grade,
        cast(
            sum(
                case
                    when bucket in ('billed_not_seen', 'not_observed') then 0
                    when low_gpu_ns = gpu_ns and high_gpu_ns = gpu_ns then gpu_ns
                    else 0
                end
            ) as decimal(38, 0)
        ) as measured_gpu_ns
    from gpu_hour_state
    group by
        month,
        payer_team,
        bucket,
        waste_class,
        cause
)

select
    grouped.month,
    grouped.team,
    grouped.bucket,
    grouped.waste_class,
    grouped.cause,
    grouped.gpu_ns,
    cast(
        cast(grouped.gpu_ns as double) / cast(3600000000000 as double) as decimal(38, 12)
    ) as gpu_hours,
    cast(
        cast(grouped.low_gpu_ns as double) / cast(3600000000000 as double) as decimal(38, 12)
    ) as low_gpu_hours,
    cast(
        cast(grouped.high_gpu_ns as double) / cast(3600000000000 as double) as decimal(38, 12)
    ) as high_gpu_hours,
    grouped.billed_usd,
    grouped.effective_usd,
    grouped.list_usd,
    cast(grouped.effective_usd as double)
    / cast(nullif(total.invoice_effective_usd, 0) as double) as share_of_bill_ratio,
    total.invoice_effective_usd,
    grouped.evidence_grade,
    cast(grouped.measured_gpu_ns as double)
    / cast(nullif(grouped.gpu_ns, 0) as double) as measured_share_ratio,
    grouped.measured_gpu_ns
from grouped
inner join total
    on grouped.month = total.month
