/*
purpose: the proof by invoice: what was billed against what was allocated, per kind of charge
grain: one row per month, issuer, invoice and charge category
keys: month, issuer, invoice_id, charge_category
columns:
    month | DATE | - | month of the charge period's start
    issuer | VARCHAR | - | InvoiceIssuerName
    invoice_id | VARCHAR | - | InvoiceId, null where the bill names none
    charge_category | VARCHAR | - | Usage, Purchase, Tax, Credit or Adjustment
    line_count | BIGINT | lines | bill lines
    billed_usd | DECIMAL(38,12) | USD | billed cost of the lines
    allocated_usd | DECIMAL(38,12) | USD | billed cost of their allocation rows
    difference_usd | DECIMAL(38,12) | USD | billed less allocated: exactly 0
    wrong_lines | BIGINT | lines | lines whose dollars or GPU-time do not reconcile
    billed_gpu_ns | DECIMAL(38,0) | ns | billed GPU-time
    partitioned_gpu_ns | DECIMAL(38,0) | ns | GPU-time of the allocation rows
*/
select
    month,
    issuer,
    invoice_id,
    charge_category,
    count(*) as line_count,
    cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
    cast(sum(allocated_usd) as decimal(38, 12)) as allocated_usd,
    cast(sum(difference_usd) as decimal(38, 12)) as difference_usd,
    count(*) filter (
        where difference_usd <> 0 or billed_gpu_ns <> partitioned_gpu_ns
    ) as wrong_lines,
    cast(sum(billed_gpu_ns) as decimal(38, 0)) as billed_gpu_ns,
    cast(sum(partitioned_gpu_ns) as decimal(38, 0)) as partitioned_gpu_ns
from recon_invoice
group by
    month,
    issuer,
    invoice_id,
    charge_category
