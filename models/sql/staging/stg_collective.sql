/*
purpose: collectives that ranks' own recorders kept; what two files repeat is one row
grain: one row per job, attempt, rank, group and collective
keys: cluster, job_id, attempt, rank, group_name, seq, created_ns
columns:
    cluster | VARCHAR | - | cluster, null where the configuration does not say
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt, null: found by time
    rank | BIGINT | - | rank
    group_name | VARCHAR | - | process group
    seq | BIGINT | - | number of the collective in its group
    created_ns | BIGINT | ns | when the host enqueued it, epoch
    name | VARCHAR | - | collective
    source_file | VARCHAR | - | file
*/
select
    cluster,
    job_id,
    attempt,
    rank,
    group_name,
    seq,
    created_ns,
    max(name) as name,
    min(source_file) as source_file
from collective
where
    not is_p2p
    and group_name is not null
    and seq is not null
group by
    cluster,
    job_id,
    attempt,
    rank,
    group_name,
    seq,
    created_ns
