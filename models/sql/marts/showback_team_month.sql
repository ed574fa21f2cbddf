/*
purpose: what each team pays: direct + shared + tax + credit = billed
grain: one row per month and team
keys: month, team
columns:
    month | DATE | - | month
    team | VARCHAR | - | team
    billed_usd | DECIMAL(38,12) | USD | billed cost
    effective_usd | DECIMAL(38,12) | USD | effective cost
    list_usd | DECIMAL(38,12) | USD | list cost of the lines that give one
    direct_usd | DECIMAL(38,12) | USD | billed cost of lines that pay GPUs, and of their companions
    shared_usd | DECIMAL(38,12) | USD | billed cost of lines that pay no GPU, neither tax nor credit
    tax_usd | DECIMAL(38,12) | USD | billed tax
    credit_usd | DECIMAL(38,12) | USD | billed credits, negative
    gpu_hours | DECIMAL(38,12) | GPU-h | billed GPU-time in hours, rounded
    gpu_ns | DECIMAL(38,0) | ns | billed GPU-time
checks:
    parts_sum_to_billed | blocking | direct_usd + shared_usd + tax_usd + credit_usd = billed_usd
*/
with part as (
    select
        allocation.month,
        allocation.payer_team as team,
        allocation.gpu_ns,
        allocation.billed_usd,
        allocation.effective_usd,
        allocation.list_usd,
        case
            when line.charge_category = 'Tax' then 'tax'
            when line.charge_category = 'Credit' then 'credit'
            when allocation.bucket = 'non_gpu' then 'shared'
            else 'direct'
        end as part
    from allocation
    inner join stg_bill_line as line
        on allocation.line_id = line.line_id
),

summed as (
    select
        month,
        team,
        cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
        cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
        cast(sum(list_usd) as decimal(38, 12)) as list_usd,
        cast(sum(case when part = 'direct' then billed_usd else 0 end) as decimal(38, 12))
            as direct_usd,
        cast(sum(case when part = 'shared' then billed_usd else 0 end) as decimal(38, 12))
            as shared_usd,
        cast(sum(case when part = 'tax' then billed_usd else 0 end) as decimal(38, 12)) as tax_usd,
        cast(sum(case when part = 'credit' then billed_usd else 0 end) as decimal(38, 12))
            as credit_usd,
        cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns
    from part
    group by
        month,
        team
)

select
    month,
    team,
    billed_usd,
    effective_usd,
    list_usd,
    direct_usd,
    shared_usd,
    tax_usd,
    credit_usd,
    cast(cast(gpu_ns as double) / cast(3600000000000 as double) as decimal(38, 12)) as gpu_hours,
    gpu_ns
from summed
