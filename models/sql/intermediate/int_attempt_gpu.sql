/*
purpose: which GPUs an attempt held.
    First by the indices that the scheduler showed while it ran; a node without indices counts
    whole, and only where the attempt's GPU count is then met exactly. Else which of the node's
    GPUs it held is unknown, and is not guessed (int_blind_node).
grain: one row per attempt and GPU
keys: cluster, job_id, attempt, gpu_uuid, start_ns
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt
    gpu_uuid | VARCHAR | - | GPU
    node | VARCHAR | - | node
    gpu_index | BIGINT | - | index on the node
    gpu_model | VARCHAR | - | model
    resource_id | VARCHAR | - | resource of the bill
    start_ns | BIGINT | ns | start of the hold, epoch
    end_ns | BIGINT | ns | end of the hold, epoch, exclusive
checks:
    hold_in_order | blocking | start_ns < end_ns
*/
with on_node as (
    select
        cluster,
        job_id,
        attempt,
        start_ns,
        end_ns,
        gpu_count,
        unnest(nodes) as node
    from int_attempt
    where gpu_count > 0 and end_ns > start_ns
),

candidate as (
    select
        job.cluster,
        job.job_id,
        job.attempt,
        job.gpu_count,
        place.gpu_uuid,
        place.node,
        place.gpu_index,
        place.gpu_model,
        place.resource_id,
        greatest(job.start_ns, place.start_ns) as start_ns,
        least(job.end_ns, place.end_ns) as end_ns,
        case when shown.gpu_index is not null then 1 else 0 end as is_shown,
        case when any_shown.node is not null then 1 else 0 end as node_is_shown
    from on_node as job
    inner join stg_gpu_inventory as place
        on job.cluster = place.cluster
        and job.node = place.node
        and place.start_ns < job.end_ns
        and place.end_ns > job.start_ns
    left join stg_job_gpu as shown
        on job.cluster = shown.cluster
        and job.job_id = shown.job_id
        and job.start_ns = shown.start_ns
        and job.node = shown.node
        and place.gpu_index = shown.gpu_index
    left join (
        select distinct
            cluster,
            job_id,
            start_ns,
            node
        from stg_job_gpu
    ) as any_shown
        on job.cluster = any_shown.cluster
        and job.job_id = any_shown.job_id
        and job.start_ns = any_shown.start_ns
        and job.node = any_shown.node
),

counted as (
    select
        cluster,
        job_id,
        attempt,
        count(distinct concat(node, ':', coalesce(cast(gpu_index as varchar), gpu_uuid)))
            as possible_count
    from candidate
    where is_shown = 1 or node_is_shown = 0
    group by
        cluster,
        job_id,
        attempt
)

select
    candidate.cluster,
    candidate.job_id,
    candidate.attempt,
    candidate.gpu_uuid,
    candidate.node,
    candidate.gpu_index,
    candidate.gpu_model,
    candidate.resource_id,
    candidate.start_ns,
    candidate.end_ns
from candidate
inner join counted
    on candidate.cluster = counted.cluster
    and candidate.job_id = counted.job_id
    and candidate.attempt = counted.attempt
where
    candidate.is_shown = 1
    or (candidate.node_is_shown = 0 and counted.possible_count = candidate.gpu_count)
