-- The kernels that cost most over all jobs of a team, with the part of all kernel time that is traced.
with kernel as (
    select
        team,
        bucket,
        module,
        op,
        kernel_family,
        limiter,
        count(distinct concat(cluster, '/', job_id)) as job_count,
        cast(sum(gpu_ns) as bigint) as gpu_ns,
        cast(sum(direct_usd) as decimal(38, 12)) as direct_usd,
        cast(sum(loaded_usd) as decimal(38, 12)) as loaded_usd
    from kernel_cost
    where month = $month and bucket is not null
    group by
        team,
        bucket,
        module,
        op,
        kernel_family,
        limiter
),

whole as (
    select
        *,
        cast(sum(gpu_ns) over () as bigint) as whole_ns,
        cast(
            sum(case when kernel_family <> '(not traced)' then gpu_ns else 0 end) over () as bigint
        ) as traced_ns
    from kernel
)

select
    count(*) over () as row_count,
    *
from whole
where kernel_family <> '(not traced)'
order by
    direct_usd desc,
    gpu_ns desc,
    team,
    bucket,
    module,
    op,
    kernel_family,
    limiter
limit $top
