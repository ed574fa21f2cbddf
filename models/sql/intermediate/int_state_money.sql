/*
purpose: billed cost of each row of int_state, over all lines that pay it
grain: one row per row of int_state that some line pays
keys: bundle_id, row_no
columns:
    bundle_id | BIGINT | - | bundle
    row_no | BIGINT | - | row of int_state
    billed_usd | DECIMAL(38,12) | USD | billed cost
*/
select
    target.bundle_id,
    target.row_no,
    cast(sum(money.billed_usd) as decimal(38, 12)) as billed_usd
from int_charge_target as target
inner join int_charge_money as money
    on target.line_id = money.line_id
    and target.target_no = money.target_no
where target.row_no is not null
group by
    target.bundle_id,
    target.row_no
