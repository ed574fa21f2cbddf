-- What each team's class of cost was in the month and in the one before, the largest change first.
with now as (
    select
        team,
        waste_class,
        gpu_ns,
        effective_usd
    from class_team_month
    where month = $month
),

before as (
    select
        team,
        waste_class,
        gpu_ns,
        effective_usd
    from class_team_month
    where month = $previous
),

both as (
    select
        coalesce(now.team, before.team) as team,
        coalesce(now.waste_class, before.waste_class) as waste_class,
        coalesce(before.gpu_ns, 0) as before_gpu_ns,
        coalesce(now.gpu_ns, 0) as gpu_ns,
        coalesce(before.effective_usd, 0) as before_usd,
        coalesce(now.effective_usd, 0) as effective_usd
    from now
    full outer join before
        on now.team = before.team
        and now.waste_class = before.waste_class
)

select
    team,
    waste_class,
    cast(before_gpu_ns as decimal(38, 0)) as before_gpu_ns,
    cast(gpu_ns as decimal(38, 0)) as gpu_ns,
    cast(before_usd as decimal(38, 12)) as before_usd,
    cast(effective_usd as decimal(38, 12)) as effective_usd,
    cast(effective_usd - before_usd as decimal(38, 12)) as change_usd
from both
order by
    abs(change_usd) desc,
    team,
    waste_class
