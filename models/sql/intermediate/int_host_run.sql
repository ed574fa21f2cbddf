/*
purpose: stretches in which the host of a trace was at work: ops and calls of any thread; holes of up
    to 100 us between them are Python at work, which nobody recorded
grain: one row per trace and stretch
keys: trace_no, start_ns
columns:
    trace_no | BIGINT | - | trace
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with event as (
    select
        source_file,
        start_ns,
        end_ns
    from stg_trace_op
    union all
    select
        source_file,
        start_ns,
        end_ns
    from stg_trace_launch
),

marked as (
    select
        trace.trace_no,
        event.start_ns,
        event.end_ns,
        case
            when event.start_ns - max(event.end_ns) over (
                partition by trace.trace_no
                order by event.start_ns, event.end_ns
                rows between unbounded preceding and 1 preceding
            ) <= 100000 then 0
            else 1
        end as is_first
    from int_trace as trace
    inner join event
        on trace.source_file = event.source_file
    where trace.job_id is not null
),

numbered as (
    select
        trace_no,
        start_ns,
        end_ns,
        cast(
            sum(is_first) over (partition by trace_no order by start_ns, end_ns rows unbounded preceding) as bigint
        ) as run_no
    from marked
)

select
    trace_no,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns
from numbered
group by
    trace_no,
    run_no
having max(end_ns) > min(start_ns)
