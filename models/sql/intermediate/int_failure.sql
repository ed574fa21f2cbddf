/*
purpose: attempts that ended early and were not cancelled, with the attempt that came after
grain: one row per attempt that ended early
keys: cluster, job_id, attempt
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt that ended early
    interrupted_ns | BIGINT | ns | its end, epoch
    cause | VARCHAR | - | platform, preemption, own_code or unknown, from the scheduler's state
    next_attempt | BIGINT | - | the attempt after it, null where none started
    next_start_ns | BIGINT | ns | its start, epoch
*/
select
    job.cluster,
    job.job_id,
    job.attempt,
    job.end_ns as interrupted_ns,
    case
        when job.state in ('NODE_FAIL', 'BOOT_FAIL') then 'platform'
        when job.state = 'PREEMPTED' then 'preemption'
        when job.state in ('TIMEOUT', 'OUT_OF_MEMORY', 'DEADLINE') then 'own_code'
        else 'unknown'
    end as cause,
    later.attempt as next_attempt,
    later.start_ns as next_start_ns
from int_attempt as job
left join int_attempt as later
    on job.cluster = later.cluster
    and job.job_id = later.job_id
    and job.attempt + 1 = later.attempt
    and later.start_ns is not null
where
    job.end_ns is not null
    and not job.is_running
    and job.state in (
        'FAILED', 'NODE_FAIL', 'BOOT_FAIL', 'PREEMPTED', 'REQUEUED', 'TIMEOUT',
        'OUT_OF_MEMORY', 'DEADLINE'
    )
