/*
purpose: each trace cut at every boundary of its GPU's work, its steps and its host, with what holds
    in each piece. A sweep: +1 at a start, -1 at an end; the running sum is what holds.
grain: one row per trace, hold and piece
keys: trace_no, hold_id, start_ns
columns:
    trace_no | BIGINT | - | trace
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    window_id | BIGINT | - | traced step, 0 outside
    is_logged | BOOLEAN | - | inside the logged step that the traced step is
    compute_count | BIGINT | kernels | kernels that run and are no collectives
    comm_count | BIGINT | kernels | collectives that run
    wait_count | BIGINT | kernels | collectives among them that wait for their last participant
    copy_count | BIGINT | copies | copies and fills that run
    is_loading | BOOLEAN | - | the step's thread loads data
    is_syncing | BOOLEAN | - | the host waits for the GPU
    is_working | BOOLEAN | - | the host works
    is_launching | BOOLEAN | - | the call that launches the GPU's next work has begun
    is_bubble | BOOLEAN | - | the step's thread names a pipeline bubble
*/
with traced as (
    select distinct
        trace_no,
        hold_id
    from int_trace_step
),

host as (
    select trace_no, 'host' as kind, start_ns, end_ns
    from int_host_run
    union all
    select trace_no, reason as kind, start_ns, end_ns
    from int_gap_name
),

edge as (
    select trace_no, hold_id, 'window' as kind, window_id as id, start_ns, end_ns
    from int_trace_step
    union all
    select
        trace_no,
        hold_id,
        'logged' as kind,
        1 as id,
        greatest(start_ns, log_start_ns) as start_ns,
        least(end_ns, log_end_ns) as end_ns
    from int_trace_step
    where step is not null
    union all
    select trace_no, hold_id, kind, 1 as id, start_ns, end_ns
    from int_gpu_work
    union all
    select
        trace_no,
        hold_id,
        'wait' as kind,
        1 as id,
        start_ns,
        least(end_ns, last_start_ns) as end_ns
    from int_collective_call
    where is_matched
    union all
    select trace_no, hold_id, 'launching' as kind, 1 as id, launch_ns as start_ns, start_ns as end_ns
    from int_busy_run
    where launch_ns is not null
    union all
    select traced.trace_no, traced.hold_id, host.kind, 1 as id, host.start_ns, host.end_ns
    from traced
    inner join host
        on traced.trace_no = host.trace_no
),

moment as (
    select trace_no, hold_id, kind, start_ns as at_ns, id as change
    from edge
    where start_ns < end_ns
    union all
    select trace_no, hold_id, kind, end_ns as at_ns, -id as change
    from edge
    where start_ns < end_ns
),

level as (
    select
        trace_no,
        hold_id,
        at_ns as start_ns,
        lead(at_ns) over (
            partition by trace_no, hold_id order by at_ns, kind, change
        ) as end_ns,
        cast(
            sum(case when kind = 'window' then change else 0 end) over so_far as bigint
        ) as window_id,
        cast(
            sum(case when kind = 'logged' then change else 0 end) over so_far as bigint
        ) as logged,
        cast(
            sum(case when kind = 'compute' then change else 0 end) over so_far as bigint
        ) as compute_count,
        cast(
            sum(case when kind = 'comm' then change else 0 end) over so_far as bigint
        ) as comm_count,
        cast(
            sum(case when kind = 'wait' then change else 0 end) over so_far as bigint
        ) as wait_count,
        cast(
            sum(case when kind = 'copy' then change else 0 end) over so_far as bigint
        ) as copy_count,
        cast(
            sum(case when kind = 'data_stall' then change else 0 end) over so_far as bigint
        ) as loading,
        cast(
            sum(case when kind = 'host_sync' then change else 0 end) over so_far as bigint
        ) as syncing,
        cast(
            sum(case when kind = 'host' then change else 0 end) over so_far as bigint
        ) as working,
        cast(
            sum(case when kind = 'launching' then change else 0 end) over so_far as bigint
        ) as launching,
        cast(
            sum(case when kind = 'pipeline_bubble' then change else 0 end) over so_far as bigint
        ) as bubble
    from moment
    window so_far as (
        partition by trace_no, hold_id
        order by at_ns, kind, change
        rows unbounded preceding
    )
)

select
    trace_no,
    hold_id,
    start_ns,
    end_ns,
    window_id,
    logged > 0 as is_logged,
    compute_count,
    comm_count,
    wait_count,
    copy_count,
    loading > 0 as is_loading,
    syncing > 0 as is_syncing,
    working > 0 as is_working,
    launching > 0 as is_launching,
    bubble > 0 as is_bubble
from level
where end_ns > start_ns
