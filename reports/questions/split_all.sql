-- What the month's compute time was for, by the roofline of the traced ops.
select
    part,
    cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns,
    cast(sum(billed_usd) as decimal(38, 12)) as billed_usd
from compute_split
where month = $month
group by part
order by
    gpu_ns desc,
    part
