/*
purpose: attempts that ended early: cause, lost work and its dollars, and the restart's startup.
    Without proof of a loss the point is 0 and the high bound is the attempt's in_step time.
grain: one row per attempt that ended early
keys: month, cluster, job_id, attempt
columns:
    month | DATE | - | month of the interruption
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt that ended early
    team | VARCHAR | - | team
    interrupted_at | TIMESTAMP WITH TIME ZONE | UTC | its end, whole seconds where the scheduler's
    state | VARCHAR | - | state
    cause | VARCHAR | - | platform, preemption, own_code or unknown
    restored_step | BIGINT | - | step of the checkpoint that the next attempt restored
    lost_gpu_ns | BIGINT | ns | billed time of lost work
    lost_high_gpu_ns | BIGINT | ns | high bound
    lost_usd | DECIMAL(38,12) | USD | billed cost of the lost work
    restart_gpu_ns | BIGINT | ns | billed startup of the next attempt
    method_id | VARCHAR | - | how the loss was found
*/
with state as (
    select
        cluster,
        job_id,
        attempt,
        cast(sum(case when bucket = 'lost_work' then gpu_ns else 0 end) as bigint) as lost_gpu_ns,
        cast(sum(case when bucket = 'lost_work' then billed_usd else 0 end) as decimal(38, 12))
            as lost_usd,
        cast(sum(case when level1 = 'startup' then gpu_ns else 0 end) as bigint)
            as startup_gpu_ns,
        cast(sum(case when level1 = 'in_step' then gpu_ns else 0 end) as bigint)
            as in_step_gpu_ns
    from gpu_hour_state
    where job_id is not null
    group by
        cluster,
        job_id,
        attempt
),

-- The high bound may begin in an hour that has no lost work of its own.
more as (
    select
        hold.cluster,
        hold.job_id,
        hold.attempt,
        cast(sum(labelled.end_ns - labelled.start_ns) as bigint) as more_ns
    from int_labelled as labelled
    inner join int_hold as hold
        on labelled.hold_id = hold.hold_id
    where labelled.is_lost_high
    group by
        hold.cluster,
        hold.job_id,
        hold.attempt
)

select
    hour_of.month,
    loss.cluster,
    loss.job_id,
    loss.attempt,
    job.team,
    hour_of.hour
    + interval '1 second' * (loss.interrupted_ns // 1000000000 % 3600)
    + interval '1 microsecond' * (loss.interrupted_ns // 1000 % 1000000) as interrupted_at,
    job.state,
    loss.cause,
    loss.restored_step,
    coalesce(own.lost_gpu_ns, 0) as lost_gpu_ns,
    case
        when loss.lost_from_ns is null then coalesce(own.in_step_gpu_ns, 0)
        else coalesce(own.lost_gpu_ns, 0) + coalesce(more.more_ns, 0)
    end as lost_high_gpu_ns,
    coalesce(own.lost_usd, 0) as lost_usd,
    coalesce(later.startup_gpu_ns, 0) as restart_gpu_ns,
    loss.method_id
from int_interruption as loss
inner join int_attempt as job
    on loss.cluster = job.cluster
    and loss.job_id = job.job_id
    and loss.attempt = job.attempt
inner join run_hour as hour_of
    on loss.interrupted_ns // 3600000000000 = hour_of.hour_id
left join state as own
    on loss.cluster = own.cluster
    and loss.job_id = own.job_id
    and loss.attempt = own.attempt
left join state as later
    on loss.cluster = later.cluster
    and loss.job_id = later.job_id
    and loss.next_attempt = later.attempt
left join more
    on loss.cluster = more.cluster
    and loss.job_id = more.job_id
    and loss.attempt = more.attempt
