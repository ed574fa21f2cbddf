-- What each team pays, the largest first: direct + shared + tax + credit = billed.
select
    team,
    direct_usd,
    shared_usd,
    tax_usd,
    credit_usd,
    billed_usd,
    effective_usd,
    gpu_ns
from showback_team_month
where month = $month
order by
    effective_usd desc,
    team
