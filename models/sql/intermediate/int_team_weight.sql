/*
purpose: weight of each team for costs that no GPU and no tag carries: its direct effective cost
    of the month in whole micro-dollars, rounded down line by line (a weight decides shares, the
    split itself is exact). Into how many buckets its time is divided moves no weight.
grain: one row per month and team
keys: month, team
columns:
    month | DATE | - | month of the charges
    team | VARCHAR | - | team
    weight | DECIMAL(38,0) | 1e-6 USD | weight
checks:
    weight_positive | blocking | weight > 0
*/
with line_time as (
    select
        line.line_id,
        cast(sum(bundle.billed_gpu_ns) as decimal(38, 0)) as all_ns
    from int_bundle_line as line
    inner join int_bundle as bundle
        on line.bundle_id = bundle.bundle_id
    group by line.line_id
),

held as (
    select
        bundle_id,
        payer_team as team,
        cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns
    from int_state
    group by
        bundle_id,
        payer_team
),

-- A companion of many bundles counts in each with its part only.
line_cost as (
    select
        bundle.month,
        held.team,
        cast(
            cast(floor(greatest(charge.effective_usd, 0) * 1000000) as hugeint)
            * cast(held.gpu_ns as hugeint)
            // cast(line_time.all_ns as hugeint) as decimal(38, 0)
        ) as weight
    from int_bundle_line as line
    inner join line_time
        on line.line_id = line_time.line_id
    inner join stg_bill_line as charge
        on line.line_id = charge.line_id
    inner join int_bundle as bundle
        on line.bundle_id = bundle.bundle_id
    inner join held
        on line.bundle_id = held.bundle_id
    where line_time.all_ns > 0
)

select
    month,
    team,
    cast(sum(weight) as decimal(38, 0)) as weight
from line_cost
group by
    month,
    team
having sum(weight) > 0
