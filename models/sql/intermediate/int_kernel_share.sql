/*
purpose: time that each GPU activity has for itself in each bucket of each traced step: an instant
    that k activities of the deciding kind share counts 1/k each, in whole nanoseconds
grain: one row per traced step, activity and bucket
keys: window_id, event_no, bucket
columns:
    window_id | BIGINT | - | traced step
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed or copy_exposed
    share_ns | BIGINT | ns | exclusive time
*/
with inside as (
    select
        step.window_id,
        work.trace_no,
        work.event_no,
        work.hold_id,
        work.kind,
        greatest(work.start_ns, step.start_ns) as start_ns,
        least(work.end_ns, step.end_ns) as end_ns
    from int_gpu_work as work
    inner join int_trace_step as step
        on work.trace_no = step.trace_no
        and work.hold_id = step.hold_id
        and work.start_ns < step.end_ns
        and work.end_ns > step.start_ns
),

-- Every boundary of an activity is a boundary of pieces: it covers a run of numbers.
covered as (
    select
        inside.window_id,
        inside.trace_no,
        inside.event_no,
        inside.hold_id,
        inside.kind,
        unnest(generate_series(first_piece.piece_no, last_piece.piece_no)) as piece_no
    from inside
    inner join int_trace_piece as first_piece
        on inside.window_id = first_piece.window_id
        and inside.start_ns = first_piece.start_ns
    inner join int_trace_piece as last_piece
        on inside.window_id = last_piece.window_id
        and inside.end_ns = last_piece.end_ns
),

shared as (
    select
        covered.window_id,
        covered.trace_no,
        covered.event_no,
        covered.hold_id,
        piece.bucket,
        piece.end_ns - piece.start_ns as piece_ns,
        piece.sharers,
        row_number() over (
            partition by covered.window_id, covered.piece_no order by covered.event_no
        ) as share_no
    from covered
    inner join int_trace_piece as piece
        on covered.window_id = piece.window_id
        and covered.piece_no = piece.piece_no
        and covered.kind = case
            when piece.bucket = 'compute' then 'compute'
            when piece.bucket = 'copy_exposed' then 'copy'
            else 'comm'
        end
)

select
    window_id,
    trace_no,
    event_no,
    hold_id,
    bucket,
    cast(
        sum(
            piece_ns // sharers + case when share_no <= piece_ns % sharers then 1 else 0 end
        ) as bigint
    ) as share_ns
from shared
group by
    window_id,
    trace_no,
    event_no,
    hold_id,
    bucket
