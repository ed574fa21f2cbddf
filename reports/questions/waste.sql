-- Each team's buckets by class and cause, with bounds and evidence.
select
    team,
    waste_class,
    bucket,
    cause,
    gpu_ns,
    low_gpu_hours,
    high_gpu_hours,
    billed_usd,
    effective_usd,
    share_of_bill_ratio,
    evidence_grade,
    measured_share_ratio
from waste_team_month
where month = $month
order by
    team,
    effective_usd desc,
    gpu_ns desc,
    waste_class,
    bucket,
    cause
