-- Each bill line against its allocation, lines that do not reconcile first, then the dearest.
select
    invoice_id,
    line_id,
    charge_category,
    charge_period_start,
    resource_id,
    billed_usd,
    allocated_usd,
    difference_usd,
    billed_gpu_ns,
    partitioned_gpu_ns,
    source_file
from recon_invoice
where month = $month
order by
    difference_usd <> 0 desc,
    billed_gpu_ns <> partitioned_gpu_ns desc,
    abs(billed_usd) desc,
    line_id
