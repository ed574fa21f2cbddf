/*
purpose: nodes on which a job held GPUs, but which ones is not known.
    For that time the scheduler proves nothing about any GPU of the node.
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
with held as (
    select
        cluster,
        job_id,
        attempt,
        node,
        count(distinct coalesce(cast(gpu_index as varchar), gpu_uuid)) as gpu_count
    from int_attempt_gpu
    group by
        cluster,
        job_id,
        attempt,
        node
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
    left join (
        select
            cluster,
            job_id,
            attempt,
            cast(sum(gpu_count) as bigint) as gpu_count
        from held
        group by
            cluster,
            job_id,
            attempt
    ) as found
        on job.cluster = found.cluster
        and job.job_id = found.job_id
        and job.attempt = found.attempt
    where
        job.gpu_count > coalesce(found.gpu_count, 0)
        and job.end_ns > job.start_ns
),

node_of as (
    select
        cluster,
        job_id,
        attempt,
        start_ns,
        end_ns,
        unnest(nodes) as node
    from short
)

select
    node_of.cluster,
    node_of.job_id,
    node_of.attempt,
    node_of.node,
    node_of.start_ns,
    node_of.end_ns
from node_of
left join held
    on node_of.cluster = held.cluster
    and node_of.job_id = held.job_id
    and node_of.attempt = held.attempt
    and node_of.node = held.node
where held.node is null
union all
select
    short.cluster,
    short.job_id,
    short.attempt,
    cast(null as varchar) as node,
    short.start_ns,
    short.end_ns
from short
where array_length(short.nodes) = 0
