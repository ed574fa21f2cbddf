-- What kernels cost, per job; the dearest first.
select
    team,
    cluster,
    job_id,
    bucket,
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
    achieved_ratio,
    coverage_ratio
from kernel_cost
where month = $month
order by
    direct_usd desc,
    loaded_usd desc,
    gpu_ns desc,
    cluster,
    job_id,
    bucket,
    module,
    op,
    kernel_family
