/*
purpose: intervals that a job decides: the hold, its steps, startup, idle runs, saves, lost work, traces,
    and policy windows of jobs
grain: one row per GPU, kind and interval; equal rows may repeat
keys: interval_no
columns:
    interval_no | BIGINT | - | number of the interval in this model
    gpu_uuid | VARCHAR | - | GPU
    kind | VARCHAR | - | what the interval says
    id | BIGINT | - | id of the thing, or 1
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with save as (
    select
        hold.gpu_uuid,
        greatest(saved.start_ns, hold.start_ns) as start_ns,
        least(saved.end_ns, hold.end_ns) as end_ns
    from stg_checkpoint as saved
    inner join int_hold as hold
        on saved.job_id = hold.job_id
        and saved.attempt = hold.attempt
        and (saved.cluster is null or saved.cluster = hold.cluster)
        and saved.start_ns < hold.end_ns
        and saved.end_ns > hold.start_ns
    where saved.is_blocking
),

policy as (
    select
        hold.gpu_uuid,
        policy.kind,
        greatest(policy.start_ns, hold.start_ns) as start_ns,
        least(policy.end_ns, hold.end_ns) as end_ns
    from stg_policy_window as policy
    inner join int_hold as hold
        on policy.kind in ('exempt_idle', 'dispute')
        and (policy.cluster is null or policy.cluster = hold.cluster)
        and (policy.node is null or policy.node = hold.node)
        and (policy.account is null or policy.account = hold.account)
        and (policy.job_id is null or policy.job_id = hold.job_id)
        and policy.start_ns < hold.end_ns
        and policy.end_ns > hold.start_ns
),

gathered as (
    select gpu_uuid, 'hold' as kind, hold_id as id, start_ns, end_ns
    from int_hold
    union all
    select gpu_uuid, 'idle' as kind, idle_id as id, start_ns, end_ns
    from int_idle_run
    union all
    select gpu_uuid, 'never' as kind, 1 as id, start_ns, end_ns
    from int_hold_fact
    where is_never_touched
    union all
    select gpu_uuid, 'log' as kind, 1 as id, start_ns, end_ns
    from int_hold_fact
    where has_log
    union all
    select gpu_uuid, 'ended' as kind, 1 as id, last_step_ns as start_ns, end_ns
    from int_hold_fact
    where has_log
    union all
    select gpu_uuid, 'startup' as kind, 1 as id, start_ns, startup_end_ns as end_ns
    from int_hold_fact
    union all
    select gpu_uuid, 'excess' as kind, 1 as id, excess_from_ns as start_ns, startup_end_ns as end_ns
    from int_hold_fact
    where excess_from_ns is not null
    union all
    select
        hold.gpu_uuid,
        'lost' as kind,
        1 as id,
        -- The restored record can be an earlier attempt's: before this one others held the GPU.
        greatest(loss.lost_from_ns, hold.start_ns) as start_ns,
        hold.end_ns
    from int_interruption as loss
    inner join int_hold as hold
        on loss.cluster = hold.cluster
        and loss.job_id = hold.job_id
        and loss.attempt = hold.attempt
    where loss.lost_from_ns is not null
    union all
    select
        hold.gpu_uuid,
        'lost_high' as kind,
        1 as id,
        greatest(loss.high_from_ns, hold.start_ns) as start_ns,
        hold.end_ns
    from int_interruption as loss
    inner join int_hold as hold
        on loss.cluster = hold.cluster
        and loss.job_id = hold.job_id
        and loss.attempt = hold.attempt
    where loss.high_from_ns is not null
    union all
    select gpu_uuid, 'save' as kind, 1 as id, start_ns, end_ns
    from save
    union all
    select gpu_uuid, 'step' as kind, 1 as id, start_ns, end_ns
    from int_step
    union all
    select hold.gpu_uuid, traced.kind, 1 as id, traced.start_ns, traced.end_ns
    from int_trace_interval as traced
    inner join int_hold as hold
        on traced.hold_id = hold.hold_id
    union all
    select gpu_uuid, kind, 1 as id, start_ns, end_ns
    from policy
)

select
    cast(row_number() over (order by gpu_uuid, kind, start_ns, end_ns, id) as bigint)
        as interval_no,
    gpu_uuid,
    kind,
    cast(id as bigint) as id,
    start_ns,
    end_ns
from gathered
where start_ns < end_ns
