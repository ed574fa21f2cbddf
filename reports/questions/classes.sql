-- The month by class of waste: the classes part the bill.
select
    waste_class,
    cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns,
    cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
    cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
    cast(sum(effective_usd) as double)
        / nullif(cast(sum(sum(effective_usd)) over () as double), 0) as share_of_bill_ratio,
    min(evidence_grade) as evidence_grade
from class_team_month
where month = $month
group by waste_class
order by
    effective_usd desc,
    waste_class
