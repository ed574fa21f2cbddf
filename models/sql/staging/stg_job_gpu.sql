/*
purpose: which GPU index an attempt held on which node; snapshots that repeat it are one row
grain: one row per attempt, node and GPU index
keys: cluster, job_id, start_ns, node, gpu_index
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    start_ns | BIGINT | ns | start of the attempt, epoch
    node | VARCHAR | - | node
    gpu_index | BIGINT | - | index on the node as the scheduler counts
*/
select
    cluster,
    job_id,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', start) * 1000 as start_ns,
    node,
    gpu_index
from job_gpu
group by
    cluster,
    job_id,
    start,
    node,
    gpu_index
