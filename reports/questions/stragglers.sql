-- The traced ranks of jobs whose ranks waited for one another, the dearest waiting first.
select
    team,
    cluster,
    job_id,
    attempt,
    rank,
    gpu_uuid,
    node,
    wait_caused_gpu_ns,
    wait_caused_usd,
    slowdown_ratio,
    cast(
        sum(wait_caused_usd) over (partition by cluster, job_id, attempt) as decimal(38, 12)
    ) as job_wait_usd
from straggler_rank
where month = $month and wait_caused_gpu_ns is not null
order by
    job_wait_usd desc,
    cluster,
    job_id,
    attempt,
    wait_caused_usd desc,
    wait_caused_gpu_ns desc,
    rank,
    gpu_uuid
