-- The month's invoices, by kind of charge: billed against allocated.
select
    issuer,
    invoice_id,
    charge_category,
    line_count,
    billed_usd,
    allocated_usd,
    difference_usd,
    billed_gpu_ns,
    partitioned_gpu_ns,
    wrong_lines
from invoice_month
where month = $month
order by
    issuer,
    invoice_id,
    billed_usd desc,
    charge_category
