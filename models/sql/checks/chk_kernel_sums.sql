/*
purpose: kernels of a bucket sum to the bucket in time and money, loaded kernels to the job's cost
level: blocking
columns:
    month | DATE | - | month
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    bucket | VARCHAR | - | bucket; null: the whole job, loaded
    kernel_ns | BIGINT | ns | time of the kernels
    bucket_ns | BIGINT | ns | time of the bucket
    kernel_usd | DECIMAL(38,12) | USD | cost of the kernels
    bucket_usd | DECIMAL(38,12) | USD | cost of the bucket, or of the job
*/
with kernel as (
    select
        month,
        cluster,
        job_id,
        bucket,
        cast(sum(gpu_ns) as bigint) as kernel_ns,
        cast(sum(direct_usd) as decimal(38, 12)) as kernel_usd
    from kernel_cost
    where bucket is not null
    group by
        month,
        cluster,
        job_id,
        bucket
),

bucket as (
    select
        month,
        cluster,
        job_id,
        bucket,
        cast(sum(gpu_ns) as bigint) as bucket_ns,
        cast(sum(billed_usd) as decimal(38, 12)) as bucket_usd
    from allocation
    where
        job_id is not null
        and bucket in ('compute', 'comm_wait', 'comm_exposed', 'copy_exposed')
    group by
        month,
        cluster,
        job_id,
        bucket
),

loaded as (
    select
        month,
        cluster,
        job_id,
        cast(sum(loaded_usd) as decimal(38, 12)) as kernel_usd
    from kernel_cost
    group by
        month,
        cluster,
        job_id
),

job as (
    select
        month,
        cluster,
        job_id,
        cast(sum(billed_usd) as decimal(38, 12)) as job_usd
    from job_cost
    group by
        month,
        cluster,
        job_id
)

select
    coalesce(bucket.month, kernel.month) as month,
    coalesce(bucket.cluster, kernel.cluster) as cluster,
    coalesce(bucket.job_id, kernel.job_id) as job_id,
    coalesce(bucket.bucket, kernel.bucket) as bucket,
    kernel.kernel_ns,
    bucket.bucket_ns,
    kernel.kernel_usd,
    bucket.bucket_usd
from bucket
full outer join kernel
    on bucket.month = kernel.month
    and bucket.cluster = kernel.cluster
    and bucket.job_id = kernel.job_id
    and bucket.bucket = kernel.bucket
where
    coalesce(kernel.kernel_ns, -1) <> coalesce(bucket.bucket_ns, -1)
    or coalesce(kernel.kernel_usd, -1) <> coalesce(bucket.bucket_usd, -1)
union all
select
    coalesce(job.month, loaded.month) as month,
    coalesce(job.cluster, loaded.cluster) as cluster,
    coalesce(job.job_id, loaded.job_id) as job_id,
    cast(null as varchar) as bucket,
    cast(null as bigint) as kernel_ns,
    cast(null as bigint) as bucket_ns,
    loaded.kernel_usd,
    job.job_usd as bucket_usd
from job
full outer join loaded
    on job.month = loaded.month
    and job.cluster = loaded.cluster
    and job.job_id = loaded.job_id
where
    loaded.kernel_usd is null
    or job.job_usd is null
    or loaded.kernel_usd <> job.job_usd
