/*
purpose: what traces say of the time of a hold: the profiler's steps prove steps where the job logs
    none of its own; and from two logged steps before a trace to two after it, what lies between
    steps is the profiler's doing
grain: one row per hold, kind and interval
keys: hold_id, kind, start_ns, end_ns
columns:
    hold_id | BIGINT | - | hold
    kind | VARCHAR | - | step or profiler
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with span as (
    select
        device.hold_id,
        trace.trace_no,
        min(step.step_no) filter (where step.is_traced) - 2 as from_no,
        max(step.step_no) filter (where step.is_traced) + 2 as to_no
    from int_trace as trace
    inner join int_trace_device as device
        on trace.trace_no = device.trace_no
    inner join int_logged_step as step
        on device.hold_id = step.hold_id
        and step.start_ns < trace.end_ns
        and step.end_ns > trace.start_ns
    group by
        device.hold_id,
        trace.trace_no
)

select
    span.hold_id,
    'profiler' as kind,
    min(step.start_ns) as start_ns,
    max(step.end_ns) as end_ns
from span
inner join int_logged_step as step
    on span.hold_id = step.hold_id
    and step.step_no >= span.from_no
    and step.step_no <= span.to_no
group by
    span.hold_id,
    span.trace_no
union
select
    traced.hold_id,
    'step' as kind,
    greatest(traced.start_ns, hold.start_ns) as start_ns,
    least(traced.end_ns, hold.end_ns) as end_ns
from int_trace_step as traced
inner join int_hold as hold
    on traced.hold_id = hold.hold_id
left join int_logged_step as logged
    on traced.hold_id = logged.hold_id
    and logged.step_no = 1
where logged.hold_id is null
