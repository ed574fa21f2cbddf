-- The month's buckets over all teams. Bounds are not shown: those of single rows do not sum.
select
    waste_class,
    bucket,
    cause,
    count(distinct team) as team_count,
    cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns,
    cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
    cast(sum(effective_usd) as double)
        / nullif(cast(max(invoice_effective_usd) as double), 0) as share_of_bill_ratio,
    min(evidence_grade) as evidence_grade,
    cast(sum(measured_gpu_ns) as double) / nullif(cast(sum(gpu_ns) as double), 0)
        as measured_share_ratio
from waste_team_month
where month = $month
group by
    waste_class,
    bucket,
    cause
order by
    effective_usd desc,
    gpu_ns desc,
    waste_class,
    bucket,
    cause
