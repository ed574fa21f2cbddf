/*
purpose: nodes of attempts of which fewer GPUs are known than they held.
    Which of a node's other GPUs it held is not guessed: for that time the scheduler proves nothing
    about any GPU of these nodes that no known job holds.
grain: one row per attempt and node
keys: cluster, job_id, attempt, node
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt
    node | VARCHAR | - | node, null where the attempt's nodes are not known: every node
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with known as (
    select
        cluster,
        job_id,
        attempt,
        count(distinct concat(node, ':', coalesce(cast(gpu_index as varchar), gpu_uuid)))
            as gpu_count
    from int_attempt_gpu
    group by
        cluster,
        job_id,
        attempt
),

short as (
    select
        job.cluster,
        job.job_id,
        job.attempt,
        job.start_ns,
        job.end_ns,
        job.nodes
    from int_attempt as job
    left join known
        on job.cluster = known.cluster
        and job.job_id = known.job_id
        and job.attempt = known.attempt
    where
        job.gpu_count > coalesce(known.gpu_count, 0)
        and job.end_ns > job.start_ns
)

select distinct
    cluster,
    job_id,
    attempt,
    unnest(nodes) as node,
    start_ns,
    end_ns
from short
union all
select
    cluster,
    job_id,
    attempt,
    cast(null as varchar) as node,
    start_ns,
    end_ns
from short
where array_length(nodes) = 0
