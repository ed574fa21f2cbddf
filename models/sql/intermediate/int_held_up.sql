/*
purpose: stretches in which the steps of a hold do not count as step time: blocking saves and
    restores, and idle runs; what overlaps is one stretch
grain: one row per hold and stretch
keys: hold_id, start_ns
columns:
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with stretch as (
    select
        hold_id,
        start_ns,
        end_ns
    from int_idle_run
    union all
    select
        hold.hold_id,
        save.start_ns,
        save.end_ns
    from stg_checkpoint as save
    inner join int_hold as hold
        on save.job_id = hold.job_id
        and save.attempt = hold.attempt
        and (save.cluster is null or save.cluster = hold.cluster)
        and save.start_ns < hold.end_ns
        and save.end_ns > hold.start_ns
    where save.is_blocking
),

marked as (
    select
        *,
        case
            when start_ns <= max(end_ns) over (
                partition by hold_id
                order by start_ns, end_ns
                rows between unbounded preceding and 1 preceding
            ) then 0
            else 1
        end as is_first
    from stretch
),

numbered as (
    select
        *,
        cast(
            sum(is_first) over (partition by hold_id order by start_ns, end_ns rows unbounded preceding) as bigint
        ) as run_no
    from marked
)

select
    hold_id,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns
from numbered
group by
    hold_id,
    run_no
