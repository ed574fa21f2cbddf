-- Time that records show and the bill does not pay: 0 USD, outside every sum.
select
    cluster,
    job_id,
    attempt,
    cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns
from seen_not_billed
where month = $month
group by
    cluster,
    job_id,
    attempt
order by
    gpu_ns desc,
    cluster,
    job_id,
    attempt
