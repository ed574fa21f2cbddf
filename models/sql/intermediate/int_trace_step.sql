/*
purpose: traced steps on the GPUs of their rank, each with the logged step that it is.
    The window is the profiler's step; a trace without any has as windows the logged steps that lie
    wholly inside it. The number is the log's, found by the greatest overlap in time, since the
    profiler counts from the start of its process. A file that was cut shows no steps: events stand in
    no order of time, so work that was lost would pass for gaps.
grain: one row per trace, hold and traced step
keys: window_id
columns:
    window_id | BIGINT | - | number of the traced step in this run, from 1
    trace_no | BIGINT | - | trace
    hold_id | BIGINT | - | hold
    pid | BIGINT | - | process of the profiler's step, null where the log gives the window
    tid | BIGINT | - | thread that carries it, null where the log gives the window
    profiler_step | BIGINT | - | number by the profiler
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    step | BIGINT | - | number by the job's log, null without one
    log_start_ns | BIGINT | ns | start of the logged step, epoch
    log_end_ns | BIGINT | ns | end of the logged step, epoch
*/
with traced as (
    select distinct
        trace.trace_no,
        trace.source_file,
        trace.start_ns,
        trace.end_ns,
        device.hold_id
    from int_trace as trace
    inner join int_trace_device as device
        on trace.trace_no = device.trace_no
    where not coalesce(trace.is_truncated, false)
),

profiled as (
    select
        traced.trace_no,
        traced.hold_id,
        step.pid,
        step.tid,
        step.step_no as profiler_step,
        step.start_ns,
        step.end_ns
    from traced
    inner join stg_trace_annotation as step
        on traced.source_file = step.source_file
        and step.kind = 'step'
),

found as (
    select
        trace_no,
        hold_id,
        pid,
        tid,
        profiler_step,
        start_ns,
        end_ns
    from profiled
    union all
    select
        traced.trace_no,
        traced.hold_id,
        cast(null as bigint) as pid,
        cast(null as bigint) as tid,
        cast(null as bigint) as profiler_step,
        logged.start_ns,
        logged.end_ns
    from traced
    inner join int_step as logged
        on traced.hold_id = logged.hold_id
        and logged.start_ns >= traced.start_ns
        and logged.end_ns <= traced.end_ns
        and logged.end_ns > logged.start_ns
    where not exists (
        select 1 as one
        from profiled
        where profiled.trace_no = traced.trace_no
    )
),

-- Windows of one GPU follow each other, whatever trace they stand in; one that begins inside another
-- tells the same time again.
ordered as (
    select
        *,
        max(end_ns) over (
            partition by hold_id
            order by start_ns, end_ns desc, trace_no, tid
            rows between unbounded preceding and 1 preceding
        ) as before_ns
    from found
),

matched as (
    select
        traced.trace_no,
        traced.hold_id,
        traced.start_ns,
        logged.step,
        logged.start_ns as log_start_ns,
        logged.end_ns as log_end_ns,
        row_number() over (
            partition by traced.trace_no, traced.hold_id, traced.start_ns
            order by
                least(traced.end_ns, logged.end_ns)
                - greatest(traced.start_ns, logged.start_ns) desc,
                logged.start_ns,
                logged.step
        ) as match_no
    from ordered as traced
    inner join int_step as logged
        on traced.hold_id = logged.hold_id
        and logged.start_ns < traced.end_ns
        and logged.end_ns > traced.start_ns
)

select
    cast(
        row_number() over (order by traced.trace_no, traced.hold_id, traced.start_ns) as bigint
    ) as window_id,
    traced.trace_no,
    traced.hold_id,
    traced.pid,
    traced.tid,
    traced.profiler_step,
    traced.start_ns,
    traced.end_ns,
    matched.step,
    matched.log_start_ns,
    matched.log_end_ns
from ordered as traced
left join matched
    on traced.trace_no = matched.trace_no
    and traced.hold_id = matched.hold_id
    and traced.start_ns = matched.start_ns
    and matched.match_no = 1
where
    traced.before_ns is null
    or traced.start_ns >= traced.before_ns
