-- What kernels cost over all jobs; the dearest first. A bound or limiter that differs is `mixed`.
select
    bucket,
    op,
    kernel_family,
    count(distinct concat(cluster, '/', job_id)) as job_count,
    cast(sum(calls) as decimal(38, 0)) as calls,
    cast(sum(gpu_ns) as decimal(38, 0)) as gpu_ns,
    cast(sum(direct_usd) as decimal(38, 12)) as direct_usd,
    cast(sum(loaded_usd) as decimal(38, 12)) as loaded_usd,
    case when min(bound) = max(bound) then min(bound) when min(bound) is not null then 'mixed' end
        as bound,
    case
        when min(limiter) = max(limiter) then min(limiter)
        when min(limiter) is not null then 'mixed'
    end as limiter
from kernel_cost
where month = $month
group by
    bucket,
    op,
    kernel_family
order by
    direct_usd desc,
    loaded_usd desc,
    gpu_ns desc,
    bucket,
    op,
    kernel_family
