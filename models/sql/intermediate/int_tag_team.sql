/*
purpose: the team of each value of the bill's team tag, by the dated mapping; none is unmapped
grain: one row per tag value and month
keys: bill_team, month
columns:
    bill_team | VARCHAR | - | value of the tag
    month | DATE | - | month of the charge
    team | VARCHAR | - | team
*/
with used as (
    select
        bill_team,
        month,
        min(start_ns) as start_ns
    from stg_bill_line
    where bill_team is not null
    group by
        bill_team,
        month
),

matched as (
    select
        used.bill_team,
        used.month,
        team_name.team,
        row_number() over (
            partition by used.bill_team, used.month
            order by team_name.start_ns desc, team_name.team
        ) as pick
    from used
    inner join stg_team_map as team_name
        on team_name.kind = 'bill_tag'
        and used.bill_team = team_name.key
        and team_name.start_ns <= used.start_ns
        and (team_name.end_ns is null or team_name.end_ns > used.start_ns)
)

select
    used.bill_team,
    used.month,
    coalesce(matched.team, 'unmapped') as team
from used
left join matched
    on used.bill_team = matched.bill_team
    and used.month = matched.month
    and matched.pick = 1
