/*
purpose: no two jobs hold one GPU at the same time
level: blocking
columns:
    gpu_uuid | VARCHAR | - | GPU
    node | VARCHAR | - | node
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job that began first
    is_running | BOOLEAN | - | it has no end: perhaps a runaway record (sacctmgr show runawayjobs)
    other_job_id | VARCHAR | - | job that held it too
    start_ns | BIGINT | ns | start of the time in which both held it, epoch
    end_ns | BIGINT | ns | its end, epoch
*/
select
    hold.gpu_uuid,
    hold.node,
    hold.cluster,
    hold.job_id,
    job.is_running,
    other.job_id as other_job_id,
    greatest(hold.start_ns, other.start_ns) as start_ns,
    least(hold.end_ns, other.end_ns) as end_ns
from int_hold as hold
inner join int_hold as other
    on hold.gpu_uuid = other.gpu_uuid
    and hold.hold_id < other.hold_id
    and hold.start_ns < other.end_ns
    and other.start_ns < hold.end_ns
left join int_attempt as job
    on hold.cluster = job.cluster
    and hold.job_id = job.job_id
    and hold.attempt = job.attempt
