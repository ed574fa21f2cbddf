-- The number: a row per class and cause.
select
    waste_class,
    cause,
    gpu_ns,
    gpu_hours,
    low_gpu_hours,
    high_gpu_hours,
    billed_usd,
    effective_usd,
    list_usd,
    share_of_bill_ratio,
    invoice_effective_usd,
    evidence_grade,
    measured_share_ratio
from waste_team_month
where month = $month and team = $team and bucket = $bucket
order by effective_usd desc, gpu_ns desc, waste_class, cause
