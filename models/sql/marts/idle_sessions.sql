/*
purpose: each stretch for which a job held a GPU and did nothing, with its dollars.
    Each stretch is a row of its own in the allocation, so its dollars are exact and sum to the
    bucket idle_held.
grain: one row per GPU, attempt and idle run, by month
keys: month, gpu_uuid, cluster, job_id, attempt, start
columns:
    month | DATE | - | month
    gpu_uuid | VARCHAR | - | GPU
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    team | VARCHAR | - | team that holds it
    start | TIMESTAMP WITH TIME ZONE | UTC | first instant that is idle_held
    end | TIMESTAMP WITH TIME ZONE | UTC | end, exclusive
    sub | VARCHAR | - | suspended, tail, interactive, memory_held or null
    waste_class | VARCHAR | - | strict, or policy where an exemption covers it
    gpu_ns | BIGINT | ns | billed time
    billed_usd | DECIMAL(38,12) | USD | billed cost
*/
with cost as (
    select
        bundle_id,
        row_no,
        month,
        cast(sum(billed_usd) as decimal(38, 12)) as billed_usd
    from allocation
    where bucket = 'idle_held'
    group by
        bundle_id,
        row_no,
        month
),

stretch as (
    select
        bundle_id,
        idle_id,
        hour_id,
        case when is_policy then 'policy' else 'strict' end as waste_class,
        min(start_ns) as start_ns,
        max(end_ns) as end_ns
    from int_labelled
    where idle_id > 0
    group by
        bundle_id,
        idle_id,
        hour_id,
        is_policy
),

session as (
    select
        cost.month,
        state.gpu_uuid,
        state.hold_id,
        state.idle_id,
        state.sub,
        state.waste_class,
        min(stretch.start_ns) as start_ns,
        max(stretch.end_ns) as end_ns,
        cast(sum(state.gpu_ns) as bigint) as gpu_ns,
        cast(sum(cost.billed_usd) as decimal(38, 12)) as billed_usd
    from int_state as state
    inner join cost
        on state.bundle_id = cost.bundle_id
        and state.row_no = cost.row_no
    inner join stretch
        on state.bundle_id = stretch.bundle_id
        and state.idle_id = stretch.idle_id
        and state.hour_id = stretch.hour_id
        and state.waste_class = stretch.waste_class
    group by
        cost.month,
        state.gpu_uuid,
        state.hold_id,
        state.idle_id,
        state.sub,
        state.waste_class
)

select
    session.month,
    session.gpu_uuid,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    hold.team,
    first_hour.hour
    + interval '1 second' * (session.start_ns // 1000000000 % 3600)
    + interval '1 microsecond' * (session.start_ns // 1000 % 1000000) as start,
    last_hour.hour
    + interval '1 second' * ((session.end_ns - last_hour.hour_id * 3600000000000) // 1000000000)
    + interval '1 microsecond' * (session.end_ns // 1000 % 1000000) as "end",
    session.sub,
    session.waste_class,
    session.gpu_ns,
    session.billed_usd
from session
inner join int_hold as hold
    on session.hold_id = hold.hold_id
inner join run_hour as first_hour
    on session.start_ns // 3600000000000 = first_hour.hour_id
inner join run_hour as last_hour
    on (session.end_ns - 1) // 3600000000000 = last_hour.hour_id
