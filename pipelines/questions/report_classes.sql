-- Each team's part of the bill by class.
select
    team,
    waste_class,
    gpu_ns,
    effective_usd
from class_team_month
where month = $month
order by team, waste_class
