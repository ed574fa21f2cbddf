/*
purpose: nodes of attempts of which fewer GPUs are known than they held.
    Which of a node's other GPUs it held is not guessed: for that time the scheduler proves nothing
    about any GPU of these nodes that no known job holds. A node that the inventory does not know is
    one of those that it calls otherwise: then nothing is proven about GPUs whose node no job names.
grain: one row per attempt and node
keys: cluster, job_id, attempt, node
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt
    node | VARCHAR | - | node, null where the attempt's nodes are not known: every node
    is_elsewhere | BOOLEAN | - | the inventory has no GPU on the node: its GPUs are called otherwise
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
),

node_of as (
    select distinct
        cluster,
        job_id,
        attempt,
        unnest(nodes) as node,
        start_ns,
        end_ns
    from short
),

listed as (
    select distinct
        node_of.cluster,
        node_of.job_id,
        node_of.attempt,
        node_of.node
    from node_of
    inner join stg_gpu_inventory as gpu
        on node_of.cluster = gpu.cluster
        and node_of.node = gpu.node
        and gpu.start_ns < node_of.end_ns
        and gpu.end_ns > node_of.start_ns
)

select
    node_of.cluster,
    node_of.job_id,
    node_of.attempt,
    node_of.node,
    listed.node is null as is_elsewhere,
    node_of.start_ns,
    node_of.end_ns
from node_of
left join listed
    on node_of.cluster = listed.cluster
    and node_of.job_id = listed.job_id
    and node_of.attempt = listed.attempt
    and node_of.node = listed.node
union all
select
    cluster,
    job_id,
    attempt,
    cast(null as varchar) as node,
    false as is_elsewhere,
    start_ns,
    end_ns
from short
where array_length(nodes) = 0
