/*
purpose: the bucket of each instant of each traced step: first match wins.
    A gap that began while the host waited for the GPU is host_sync until the host first rests; a
    collective counts as waiting only while every collective that runs waits.
grain: one row per traced step and piece
keys: window_id, piece_no
columns:
    window_id | BIGINT | - | traced step
    piece_no | BIGINT | - | number of the piece in its trace and hold, in order of time
    trace_no | BIGINT | - | trace
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed, copy_exposed, data_stall, host_sync, launch_gap, pipeline_bubble or gap_unknown
    is_logged | BOOLEAN | - | inside the logged step that the traced step is
    sharers | BIGINT | activities | activities of the GPU that the time is shared by, 0 in a gap
*/
with piece as (
    select
        *,
        compute_count + comm_count + copy_count = 0 as is_gap,
        row_number() over (partition by trace_no, hold_id order by start_ns) as piece_no,
        -- Before the first activity the trace sees no GPU: no gap begins there.
        coalesce(
            lag(compute_count + comm_count + copy_count) over (
                partition by trace_no, hold_id order by start_ns
            ), 0
        ) as busy_before
    from int_trace_level
),

numbered as (
    select
        *,
        cast(
            sum(case when is_gap and busy_before > 0 then 1 else 0 end) over (
                partition by trace_no, hold_id
                order by start_ns
                rows unbounded preceding
            ) as bigint
        ) as gap_no,
        case when is_working or is_launching or is_syncing then 0 else 1 end as is_rest
    from piece
),

followed as (
    select
        *,
        max(case when is_gap and busy_before > 0 and is_syncing then 1 else 0 end) over (
            partition by trace_no, hold_id, gap_no
        ) as began_in_sync,
        cast(
            sum(case when is_gap then is_rest else 0 end) over (
                partition by trace_no, hold_id, gap_no
                order by start_ns
                rows unbounded preceding
            ) as bigint
        ) as rests
    from numbered
)

select
    window_id,
    cast(piece_no as bigint) as piece_no,
    trace_no,
    hold_id,
    start_ns,
    end_ns,
    case
        when compute_count > 0 then 'compute'
        when comm_count > 0 and wait_count >= comm_count then 'comm_wait'
        when comm_count > 0 then 'comm_exposed'
        when copy_count > 0 then 'copy_exposed'
        when is_loading then 'data_stall'
        when began_in_sync = 1 and rests = 0 then 'host_sync'
        when is_working or is_launching then 'launch_gap'
        when is_bubble then 'pipeline_bubble'
        else 'gap_unknown'
    end as bucket,
    is_logged,
    case
        when compute_count > 0 then compute_count
        when comm_count > 0 then comm_count
        else copy_count
    end as sharers
from followed
where window_id > 0
