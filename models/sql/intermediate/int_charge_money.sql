/*
purpose: each line's money on its targets by integer weights and largest remainder.
    The money is taken in pico-dollars without its sign: q = a x w // W for each target, and one
    more for the targets with the largest remainders until all is given out; ties go by number.
    So the parts sum to the line exactly, on each basis alone. Where all weights are 0 the first
    target takes all.
grain: one row per line and target
keys: line_id, target_no
columns:
    line_id | VARCHAR | - | bill line
    target_no | BIGINT | - | target of int_charge_target
    billed_usd | DECIMAL(38,12) | USD | billed cost of the target
    effective_usd | DECIMAL(38,12) | USD | effective cost of the target
    list_usd | DECIMAL(38,12) | USD | list cost of the target, null where the line has none
*/
with total as (
    select
        line_id,
        cast(sum(weight) as decimal(38, 0)) as all_weight
    from int_charge_target
    group by line_id
),

basis as (
    select line_id, 'billed' as basis, billed_usd as usd
    from stg_bill_line
    union all
    select line_id, 'effective' as basis, effective_usd as usd
    from stg_bill_line
    union all
    select line_id, 'list' as basis, list_usd as usd
    from stg_bill_line
    where list_usd is not null
),

share as (
    select
        target.line_id,
        target.target_no,
        basis.basis,
        case when basis.usd < 0 then -1 else 1 end as sign,
        cast(cast(abs(basis.usd) * 1000000000000 as decimal(38, 0)) as hugeint) as amount,
        case
            when total.all_weight > 0 then cast(target.weight as hugeint)
            when target.target_no = 1 then cast(1 as hugeint)
            else cast(0 as hugeint)
        end as weight,
        cast(greatest(total.all_weight, 1) as hugeint) as all_weight
    from int_charge_target as target
    inner join total
        on target.line_id = total.line_id
    inner join basis
        on target.line_id = basis.line_id
),

ranked as (
    select
        line_id,
        target_no,
        basis,
        sign,
        amount,
        amount * weight // all_weight as quotient,
        row_number() over (
            partition by line_id, basis
            order by amount * weight % all_weight desc, target_no
        ) as turn
    from share
),

left_over as (
    select
        line_id,
        basis,
        max(amount) - cast(sum(quotient) as hugeint) as units
    from ranked
    group by
        line_id,
        basis
),

exact as (
    select
        ranked.line_id,
        ranked.target_no,
        ranked.basis,
        cast(
            cast(
                ranked.sign
                * (ranked.quotient + case when ranked.turn <= left_over.units then 1 else 0 end)
                as decimal(38, 0)
            ) * cast('0.000000000001' as decimal(13, 12)) as decimal(38, 12)
        ) as usd
    from ranked
    inner join left_over
        on ranked.line_id = left_over.line_id
        and ranked.basis = left_over.basis
)

select
    line_id,
    target_no,
    max(case when basis = 'billed' then usd end) as billed_usd,
    max(case when basis = 'effective' then usd end) as effective_usd,
    max(case when basis = 'list' then usd end) as list_usd
from exact
group by
    line_id,
    target_no
