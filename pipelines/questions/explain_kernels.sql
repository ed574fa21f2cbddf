-- The kernels that the bucket's dollars fall on, the dearest first.
select
    count(*) over () as row_count,
    cluster,
    job_id,
    module,
    op,
    kernel_family,
    traced_calls,
    calls,
    gpu_ns,
    direct_usd,
    loaded_usd,
    low_usd,
    high_usd,
    bound,
    limiter,
    achieved_ratio
from kernel_cost
where month = $month and team = $team and bucket = $bucket
order by
    direct_usd desc,
    gpu_ns desc,
    cluster,
    job_id,
    module,
    op,
    kernel_family
limit $top
