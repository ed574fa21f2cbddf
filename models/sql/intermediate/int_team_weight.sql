/*
purpose: weight of each team for costs that no GPU and no tag carries: its direct effective cost
    of the month in whole micro-dollars, rounded down row by row (a weight decides shares, the
    split itself is exact)
grain: one row per month and team
keys: month, team
columns:
    month | DATE | - | month of the charges
    team | VARCHAR | - | team
    weight | DECIMAL(38,0) | 1e-6 USD | weight
checks:
    weight_positive | blocking | weight > 0
*/
with bundle_cost as (
    select
        line.bundle_id,
        cast(sum(charge.effective_usd) as decimal(38, 12)) as effective_usd
    from int_bundle_line as line
    inner join stg_bill_line as charge
        on line.line_id = charge.line_id
    group by line.bundle_id
),

row_cost as (
    select
        bundle.month,
        state.payer_team as team,
        cast(
            cast(floor(greatest(cost.effective_usd, 0) * 1000000) as hugeint)
            * cast(state.gpu_ns as hugeint)
            // cast(bundle.billed_gpu_ns as hugeint) as decimal(38, 0)
        ) as weight
    from int_state as state
    inner join int_bundle as bundle
        on state.bundle_id = bundle.bundle_id
    inner join bundle_cost as cost
        on state.bundle_id = cost.bundle_id
    where bundle.billed_gpu_ns > 0
)

select
    month,
    team,
    cast(sum(weight) as decimal(38, 0)) as weight
from row_cost
group by
    month,
    team
having sum(weight) > 0
