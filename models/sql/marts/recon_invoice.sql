/*
purpose: the proof: each bill line against what was allocated of it, in dollars and in GPU-time
grain: one row per bill line
keys: line_id
columns:
    month | DATE | - | month of the charge period's start
    line_id | VARCHAR | - | bill line
    issuer | VARCHAR | - | InvoiceIssuerName
    invoice_id | VARCHAR | - | InvoiceId
    charge_category | VARCHAR | - | Usage, Purchase, Tax, Credit or Adjustment
    charge_period_start | TIMESTAMP WITH TIME ZONE | UTC | start of the charge period
    resource_id | VARCHAR | - | resource
    billed_usd | DECIMAL(38,12) | USD | billed cost of the line
    allocated_usd | DECIMAL(38,12) | USD | billed cost of its allocation rows
    difference_usd | DECIMAL(38,12) | USD | billed less allocated: exactly 0
    effective_difference_usd | DECIMAL(38,12) | USD | the same on the effective basis
    list_difference_usd | DECIMAL(38,12) | USD | the same on the list basis, null where it has none
    billed_gpu_ns | BIGINT | ns | billed GPU-time of the line
    partitioned_gpu_ns | BIGINT | ns | GPU-time of its allocation rows
    source_file | VARCHAR | - | file
checks:
    money_reconciles | blocking | difference_usd = 0 and effective_difference_usd = 0 and coalesce(list_difference_usd, 0) = 0
    time_reconciles | blocking | billed_gpu_ns = partitioned_gpu_ns
order: charge_period_start, line_id
*/
with allocated as (
    select
        line_id,
        cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
        cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
        cast(sum(list_usd) as decimal(38, 12)) as list_usd,
        cast(sum(gpu_ns) as bigint) as gpu_ns
    from allocation
    group by line_id
)

select
    line.month,
    line.line_id,
    line.issuer,
    line.invoice_id,
    line.charge_category,
    line.charge_period_start,
    line.resource_id,
    line.billed_usd,
    coalesce(allocated.billed_usd, 0) as allocated_usd,
    cast(line.billed_usd - coalesce(allocated.billed_usd, 0) as decimal(38, 12)) as difference_usd,
    cast(line.effective_usd - coalesce(allocated.effective_usd, 0) as decimal(38, 12))
        as effective_difference_usd,
    cast(line.list_usd - coalesce(allocated.list_usd, 0) as decimal(38, 12))
        as list_difference_usd,
    line.billed_gpu_ns,
    coalesce(allocated.gpu_ns, 0) as partitioned_gpu_ns,
    line.source_file
from stg_bill_line as line
left join allocated
    on line.line_id = allocated.line_id
