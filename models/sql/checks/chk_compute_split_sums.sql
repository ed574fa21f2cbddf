/*
purpose: the parts of compute_split sum to the compute row of each attempt in time and money
level: blocking
columns:
    month | DATE | - | month
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    part_ns | BIGINT | ns | time of the parts
    compute_ns | BIGINT | ns | compute time
    part_usd | DECIMAL(38,12) | USD | cost of the parts
    compute_usd | DECIMAL(38,12) | USD | cost of the compute time
*/
with part as (
    select
        month,
        cluster,
        job_id,
        attempt,
        cast(sum(gpu_ns) as bigint) as part_ns,
        cast(sum(billed_usd) as decimal(38, 12)) as part_usd
    from compute_split
    group by
        month,
        cluster,
        job_id,
        attempt
),

compute as (
    select
        month,
        cluster,
        job_id,
        attempt,
        cast(sum(gpu_ns) as bigint) as compute_ns,
        cast(sum(billed_usd) as decimal(38, 12)) as compute_usd
    from allocation
    where bucket = 'compute'
    group by
        month,
        cluster,
        job_id,
        attempt
)

select
    coalesce(compute.month, part.month) as month,
    coalesce(compute.cluster, part.cluster) as cluster,
    coalesce(compute.job_id, part.job_id) as job_id,
    coalesce(compute.attempt, part.attempt) as attempt,
    part.part_ns,
    compute.compute_ns,
    part.part_usd,
    compute.compute_usd
from compute
full outer join part
    on compute.month = part.month
    and compute.cluster = part.cluster
    and compute.job_id = part.job_id
    and compute.attempt = part.attempt
where
    coalesce(part.part_ns, -1) <> coalesce(compute.compute_ns, -1)
    or coalesce(part.part_usd, -1) <> coalesce(compute.compute_usd, -1)
