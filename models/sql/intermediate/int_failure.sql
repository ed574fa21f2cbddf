/*
purpose: attempts that ended early and were not cancelled, with the next that started
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
with started as (
    select
        cluster,
        job_id,
        attempt,
        end_ns,
        is_running,
        state,
        lead(attempt) over (partition by cluster, job_id order by attempt) as next_attempt,
        lead(start_ns) over (partition by cluster, job_id order by attempt) as next_start_ns
    from int_attempt
    where start_ns is not null
)

select
    cluster,
    job_id,
    attempt,
    end_ns as interrupted_ns,
    case
        when state in ('NODE_FAIL', 'BOOT_FAIL') then 'platform'
        when state = 'PREEMPTED' then 'preemption'
        when state in ('TIMEOUT', 'OUT_OF_MEMORY', 'DEADLINE') then 'own_code'
        else 'unknown'
    end as cause,
    next_attempt,
    next_start_ns
from started
where
    not is_running
    and state in (
        'FAILED', 'NODE_FAIL', 'BOOT_FAIL', 'PREEMPTED', 'REQUEUED', 'TIMEOUT',
        'OUT_OF_MEMORY', 'DEADLINE'
    )
