/*
purpose: each team's part of the bill by class of waste.
    The classes part the bill; strict waste, step inefficiency and overhead are never added up.
grain: one row per month, team and class
keys: month, team, waste_class
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that holds the time and pays
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    gpu_ns | DECIMAL(38,0) | ns | billed GPU-time
    billed_usd | DECIMAL(38,12) | USD | billed cost
    effective_usd | DECIMAL(38,12) | USD | effective cost
    evidence_grade | VARCHAR | - | the worst grade of its rows
    measured_gpu_ns | DECIMAL(38,0) | ns | observed time whose bounds equal its point
checks:
    time_not_negative | blocking | gpu_ns >= 0
*/
select
    month,
    team,
    waste_class,
    cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns,
    cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
    cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
    min(evidence_grade) as evidence_grade,
    cast(sum(measured_gpu_ns) as decimal(38, 0)) as measured_gpu_ns
from waste_team_month
group by
    month,
    team,
    waste_class
