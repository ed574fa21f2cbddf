/*
purpose: stretches of a trace in which its GPU did anything, and when the host had begun to call for
    the work that ends the gap before each
grain: one row per trace, hold and stretch
keys: trace_no, hold_id, start_ns
columns:
    trace_no | BIGINT | - | trace
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    launch_ns | BIGINT | ns | start of the call that launched its first work, null where unknown
*/
with marked as (
    select
        trace_no,
        hold_id,
        event_no,
        start_ns,
        end_ns,
        case
            when start_ns <= max(end_ns) over (
                partition by trace_no, hold_id
                order by start_ns, end_ns, event_no
                rows between unbounded preceding and 1 preceding
            ) then 0
            else 1
        end as is_first
    from int_gpu_work
),

numbered as (
    select
        *,
        cast(
            sum(is_first) over (
                partition by trace_no, hold_id
                order by start_ns, end_ns, event_no
                rows unbounded preceding
            ) as bigint
        ) as run_no
    from marked
),

run as (
    select
        trace_no,
        hold_id,
        min(start_ns) as start_ns,
        max(end_ns) as end_ns
    from numbered
    group by
        trace_no,
        hold_id,
        run_no
)

select
    run.trace_no,
    run.hold_id,
    run.start_ns,
    max(run.end_ns) as end_ns,
    min(launch.start_ns) as launch_ns
from run
inner join int_gpu_work as first_work
    on run.trace_no = first_work.trace_no
    and run.hold_id = first_work.hold_id
    and run.start_ns = first_work.start_ns
left join int_launch as launch
    on first_work.trace_no = launch.trace_no
    and first_work.correlation = launch.correlation
group by
    run.trace_no,
    run.hold_id,
    run.start_ns
