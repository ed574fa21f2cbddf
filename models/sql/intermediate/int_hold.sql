/*
purpose: holds with a number and the rank that ran there.
    Ranks follow the scheduler's order of nodes, then the index on the node.
grain: one row per attempt and GPU
keys: hold_id
columns:
    hold_id | BIGINT | - | number of the hold in this run, from 1
    gpu_uuid | VARCHAR | - | GPU
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt
    rank | BIGINT | - | rank of the GPU within the attempt, from 0
    rank_count | BIGINT | GPUs | GPUs of the attempt that are known
    gpu_count | BIGINT | GPUs | GPUs that the scheduler says the attempt held
    node | VARCHAR | - | node
    gpu_model | VARCHAR | - | model
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    team | VARCHAR | - | team that holds it
    account | VARCHAR | - | account
    state | VARCHAR | - | state of the attempt
    is_suspended | BOOLEAN | - | suspended for some time
    is_interactive | BOOLEAN | - | interactive allocation
*/
with ranked as (
    select
        *,
        dense_rank() over (
            partition by cluster, job_id, attempt
            order by length(node), node, coalesce(gpu_index, 0), gpu_uuid
        ) - 1 as rank
    from int_attempt_gpu
)

select
    cast(
        row_number() over (order by hold.gpu_uuid, hold.start_ns, hold.job_id, hold.attempt)
        as bigint
    ) as hold_id,
    hold.gpu_uuid,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    cast(hold.rank as bigint) as rank,
    cast(
        max(hold.rank) over (partition by hold.cluster, hold.job_id, hold.attempt) + 1 as bigint
    ) as rank_count,
    job.gpu_count,
    hold.node,
    hold.gpu_model,
    hold.start_ns,
    hold.end_ns,
    job.team,
    job.account,
    job.state,
    job.is_suspended,
    job.is_interactive
from ranked as hold
inner join int_attempt as job
    on hold.cluster = job.cluster
    and hold.job_id = job.job_id
    and hold.attempt = job.attempt
