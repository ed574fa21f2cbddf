-- Each team's part of the bill by class of waste.
select
    team,
    waste_class,
    gpu_ns,
    billed_usd,
    effective_usd,
    evidence_grade
from class_team_month
where month = $month
order by
    team,
    waste_class
