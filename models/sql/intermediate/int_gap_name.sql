/*
purpose: stretches of the host whose names say why a GPU has nothing to do (seed gap_name):
    loading data and pipeline bubbles on the thread that carries the step, waits for the GPU on any
grain: one row per trace, reason and stretch
keys: trace_no, reason, event_kind, event_no
columns:
    trace_no | BIGINT | - | trace
    reason | VARCHAR | - | data_stall, host_sync or pipeline_bubble
    event_kind | VARCHAR | - | op, launch or annotation: which table event_no counts in
    event_no | BIGINT | - | event in the file
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with event as (
    select
        source_file,
        'op' as event_kind,
        event_no,
        pid,
        tid,
        name,
        start_ns,
        end_ns
    from stg_trace_op
    union all
    select
        source_file,
        'launch' as event_kind,
        event_no,
        pid,
        tid,
        name,
        start_ns,
        end_ns
    from stg_trace_launch
    union all
    select
        source_file,
        'annotation' as event_kind,
        event_no,
        pid,
        tid,
        name,
        start_ns,
        end_ns
    from stg_trace_annotation
    where kind = 'user'
),

-- Few names, many events: the patterns are held against each name once.
told as (
    select distinct
        named.name,
        rule.reason
    from (select distinct name from event) as named
    inner join gap_name as rule
        on (rule.is_exact and named.name = rule.starts_with)
        or (
            not rule.is_exact
            and starts_with(named.name, rule.starts_with)
            and (
                rule.ends_with is null
                or substr(
                    named.name, length(named.name) - length(rule.ends_with) + 1
                ) = rule.ends_with
            )
        )
),

thread as (
    select distinct
        trace_no,
        pid,
        tid
    from int_trace_step
)

select distinct
    trace.trace_no,
    told.reason,
    event.event_kind,
    event.event_no,
    event.start_ns,
    event.end_ns
from int_trace as trace
inner join event
    on trace.source_file = event.source_file
inner join told
    on event.name = told.name
inner join thread
    on trace.trace_no = thread.trace_no
    and (
        told.reason = 'host_sync'
        or thread.tid is null
        or (event.pid = thread.pid and event.tid = thread.tid)
    )
where event.end_ns > event.start_ns
