/*
purpose: which ranks the others wait for: the waiting inside collectives that each traced rank caused
    by coming last, over the whole job. A second view of comm_wait, never added to it. Where no
    collective of the attempt is matched, nobody can be said to have been waited for, or not.
    slowdown_ratio = its traced step time without waiting / the same of the attempt's other ranks.
grain: one row per month, attempt and traced rank of several
keys: month, cluster, job_id, attempt, rank, gpu_uuid
columns:
    month | DATE | - | month
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    rank | BIGINT | - | rank
    gpu_uuid | VARCHAR | - | its GPU
    node | VARCHAR | - | its node
    wait_caused_gpu_ns | BIGINT | ns | GPU-time that other ranks waited for it, null where no collective is matched
    wait_caused_usd | DECIMAL(38,12) | USD | billed cost of that time, paid by those who waited; null likewise
    slowdown_ratio | DOUBLE | ratio | its own time against the others', null where none is traced
    team | VARCHAR | - | team that holds it
*/
with own as (
    select
        step.hold_id,
        cast(
            sum(
                case when part.bucket in ('comm_wait', 'comm_exposed') then 0 else part.traced_ns end
            ) as bigint
        ) as own_ns,
        count(distinct step.window_id) as steps
    from int_trace_step as step
    inner join int_trace_bucket as part
        on step.window_id = part.window_id
    group by step.hold_id
),

ranked as (
    select
        own.hold_id,
        own.own_ns,
        own.steps,
        cast(sum(own.own_ns) over of_attempt as bigint) - own.own_ns as others_ns,
        cast(sum(own.steps) over of_attempt as bigint) - own.steps as others_steps
    from own
    inner join int_hold as hold
        on own.hold_id = hold.hold_id
    where hold.rank_count > 1
    window of_attempt as (partition by hold.cluster, hold.job_id, hold.attempt)
),

caused as (
    select
        hour_of.month,
        state.cause_hold_id as hold_id,
        cast(sum(state.gpu_ns) as bigint) as gpu_ns,
        cast(coalesce(sum(paid.billed_usd), 0) as decimal(38, 12)) as billed_usd
    from int_state as state
    inner join run_hour as hour_of
        on state.hour_id = hour_of.hour_id
    left join int_state_money as paid
        on state.bundle_id = paid.bundle_id
        and state.row_no = paid.row_no
    where state.cause_hold_id > 0
    group by
        hour_of.month,
        state.cause_hold_id
),

matched as (
    select distinct
        hold.cluster,
        hold.job_id,
        hold.attempt
    from int_collective_call as call
    inner join int_hold as hold
        on call.hold_id = hold.hold_id
    where call.is_matched
),

present as (
    select distinct
        money.month,
        money.hold_id
    from int_bucket_money as money
    inner join ranked
        on money.hold_id = ranked.hold_id
)

select
    present.month,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    hold.rank,
    hold.gpu_uuid,
    hold.node,
    case when matched.job_id is not null then coalesce(caused.gpu_ns, 0) end
        as wait_caused_gpu_ns,
    case when matched.job_id is not null then coalesce(caused.billed_usd, 0) end
        as wait_caused_usd,
    case
        when ranked.others_ns > 0
            then cast(ranked.own_ns * ranked.others_steps as double)
            / cast(ranked.others_ns * ranked.steps as double)
    end as slowdown_ratio,
    hold.team
from present
inner join ranked
    on present.hold_id = ranked.hold_id
inner join int_hold as hold
    on present.hold_id = hold.hold_id
left join caused
    on present.month = caused.month
    and present.hold_id = caused.hold_id
left join matched
    on hold.cluster = matched.cluster
    and hold.job_id = matched.job_id
    and hold.attempt = matched.attempt
