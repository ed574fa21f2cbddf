-- What nothing explains, with its dollars.
select
    team,
    bucket,
    cause,
    gpu_ns,
    effective_usd,
    share_of_bill_ratio,
    evidence_grade
from waste_team_month
where month = $month and waste_class = 'unknown'
order by
    effective_usd desc,
    gpu_ns desc,
    team,
    bucket,
    cause
