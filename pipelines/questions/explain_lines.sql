-- The bill lines that pay it, the dearest first, with the part of each that is in the bucket.
with part as (
    select
        line_id,
        cast(sum(gpu_ns) as bigint) as gpu_ns,
        cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
        cast(sum(effective_usd) as decimal(38, 12)) as effective_usd
    from allocation
    where month = $month and payer_team = $team and bucket = $bucket
    group by line_id
)

select
    count(*) over () as row_count,
    part.line_id,
    line.invoice_id,
    line.charge_category,
    line.charge_description,
    line.charge_period_start,
    line.resource_id,
    part.gpu_ns,
    part.billed_usd,
    part.effective_usd,
    line.effective_usd as line_effective_usd,
    line.source_file,
    line.source_row
from part
inner join bill_line as line
    on part.line_id = line.line_id
order by part.effective_usd desc, part.gpu_ns desc, part.line_id
limit $top
