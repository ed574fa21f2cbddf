/*
purpose: each stretch for which a job held a GPU and did nothing, with its dollars.
    The dollars of idle_held in an hour are split over the stretches of that hour by time and
    largest remainder: they sum to the bucket.
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
with piece as (
    select
        labelled.bundle_id,
        labelled.gpu_uuid,
        labelled.hour_id,
        labelled.hold_id,
        labelled.idle_id,
        case when labelled.is_policy then 'policy' else 'strict' end as waste_class,
        idle.sub,
        min(labelled.start_ns) as start_ns,
        max(labelled.end_ns) as end_ns,
        cast(sum(labelled.end_ns - labelled.start_ns) as bigint) as gpu_ns
    from int_labelled as labelled
    inner join int_idle_run as idle
        on labelled.idle_id = idle.idle_id
    where labelled.bucket = 'idle_held'
    group by
        labelled.bundle_id,
        labelled.gpu_uuid,
        labelled.hour_id,
        labelled.hold_id,
        labelled.idle_id,
        labelled.is_policy,
        idle.sub
),

cost as (
    select
        state.bundle_id,
        state.row_no,
        state.gpu_uuid,
        state.hour_id,
        state.hold_id,
        state.waste_class,
        state.sub,
        state.gpu_ns,
        cast(sum(allocation.billed_usd) as decimal(38, 12)) as billed_usd
    from int_state as state
    inner join allocation
        on state.bundle_id = allocation.bundle_id
        and state.row_no = allocation.row_no
    where state.bucket = 'idle_held'
    group by
        state.bundle_id,
        state.row_no,
        state.gpu_uuid,
        state.hour_id,
        state.hold_id,
        state.waste_class,
        state.sub,
        state.gpu_ns
),

share as (
    select
        piece.*,
        cost.row_no,
        case when cost.billed_usd < 0 then -1 else 1 end as sign,
        cast(cast(abs(cost.billed_usd) * 1000000000000 as decimal(38, 0)) as hugeint) as amount,
        cast(cost.gpu_ns as hugeint) as all_ns
    from piece
    inner join cost
        on piece.bundle_id = cost.bundle_id
        and piece.gpu_uuid = cost.gpu_uuid
        and piece.hour_id = cost.hour_id
        and piece.hold_id = cost.hold_id
        and piece.waste_class = cost.waste_class
        and coalesce(piece.sub, '') = coalesce(cost.sub, '')
),

ranked as (
    select
        *,
        amount * gpu_ns // all_ns as quotient,
        row_number() over (
            partition by bundle_id, row_no
            order by amount * gpu_ns % all_ns desc, idle_id
        ) as turn
    from share
),

left_over as (
    select
        bundle_id,
        row_no,
        max(amount) - cast(sum(quotient) as hugeint) as units
    from ranked
    group by
        bundle_id,
        row_no
),

exact as (
    select
        ranked.*,
        cast(
            cast(
                ranked.sign
                * (ranked.quotient + case when ranked.turn <= left_over.units then 1 else 0 end)
                as decimal(38, 0)
            ) * cast('0.000000000001' as decimal(13, 12)) as decimal(38, 12)
        ) as billed_usd
    from ranked
    inner join left_over
        on ranked.bundle_id = left_over.bundle_id
        and ranked.row_no = left_over.row_no
),

session as (
    select
        hour_of.month,
        exact.gpu_uuid,
        exact.hold_id,
        exact.idle_id,
        exact.sub,
        exact.waste_class,
        min(exact.start_ns) as start_ns,
        max(exact.end_ns) as end_ns,
        cast(sum(exact.gpu_ns) as bigint) as gpu_ns,
        cast(sum(exact.billed_usd) as decimal(38, 12)) as billed_usd
    from exact
    inner join run_hour as hour_of
        on exact.hour_id = hour_of.hour_id
    group by
        hour_of.month,
        exact.gpu_uuid,
        exact.hold_id,
        exact.idle_id,
        exact.sub,
        exact.waste_class
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
