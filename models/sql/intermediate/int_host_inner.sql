/*
purpose: the innermost op, backward op and module around each launch, and the innermost module
    around each forward op, on its thread.
    A sweep along each thread: the depth is the number of frames that are open; the innermost frame
    at a point is the last that opened at the point's depth. Frames that end before the point, as
    where slices overlap without nesting, are none.
grain: one row per trace, point and kind of frame that has a frame around it
keys: trace_no, point_kind, point_id, frame_kind
columns:
    trace_no | BIGINT | - | trace
    point_kind | VARCHAR | - | launch or op
    point_id | BIGINT | - | correlation of the launch, event number of the op
    frame_kind | VARCHAR | - | op, backward or module
    frame_id | BIGINT | - | event number of the frame in the file
*/
with framed as (
    select distinct
        trace.trace_no,
        trace.source_file
    from int_trace as trace
    inner join stg_trace_annotation as module
        on trace.source_file = module.source_file
        and module.kind = 'module'
    where trace.job_id is not null
),

-- Only what is looked for: launches of GPU work, and ops only where no External id gives them.
launched as (
    select
        work.trace_no,
        work.correlation,
        bool_or(op.event_no is null) as needs_op
    from int_gpu_work as work
    left join int_op as op
        on work.trace_no = op.trace_no
        and work.external_id = op.external_id
    where
        not work.is_graph
        and work.correlation is not null
    group by
        work.trace_no,
        work.correlation
),

unnamed as (
    select distinct trace_no
    from launched
    where needs_op
),

frame as (
    select
        op.trace_no,
        'op' as frame_kind,
        op.event_no as id,
        op.pid,
        op.tid,
        op.start_ns,
        op.end_ns
    from int_op as op
    inner join unnamed
        on op.trace_no = unnamed.trace_no
    union all
    select
        op.trace_no,
        'backward' as frame_kind,
        op.event_no as id,
        op.pid,
        op.tid,
        op.start_ns,
        op.end_ns
    from int_op as op
    inner join framed
        on op.trace_no = framed.trace_no
    where
        op.is_backward
        and op.sequence_number is not null
    union all
    select
        framed.trace_no,
        'module' as frame_kind,
        module.event_no as id,
        module.pid,
        module.tid,
        module.start_ns,
        module.end_ns
    from framed
    inner join stg_trace_annotation as module
        on framed.source_file = module.source_file
        and module.kind = 'module'
),

point as (
    select
        launch.trace_no,
        'op' as frame_kind,
        'launch' as point_kind,
        launch.correlation as id,
        launch.pid,
        launch.tid,
        launch.start_ns
    from int_launch as launch
    inner join launched
        on launch.trace_no = launched.trace_no
        and launch.correlation = launched.correlation
        and launched.needs_op
    union all
    select
        launch.trace_no,
        kinds.frame_kind,
        'launch' as point_kind,
        launch.correlation as id,
        launch.pid,
        launch.tid,
        launch.start_ns
    from int_launch as launch
    inner join framed
        on launch.trace_no = framed.trace_no
    inner join launched
        on launch.trace_no = launched.trace_no
        and launch.correlation = launched.correlation
    cross join (
        select 'backward' as frame_kind
        union all
        select 'module' as frame_kind
    ) as kinds
    union all
    select
        op.trace_no,
        'module' as frame_kind,
        'op' as point_kind,
        op.event_no as id,
        op.pid,
        op.tid,
        op.start_ns
    from int_op as op
    inner join framed
        on op.trace_no = framed.trace_no
    where
        op.sequence_number is not null
        and not op.is_backward
),

-- At one instant frames close first, then open (the outer, which is longer, before the inner).
moment as (
    select
        trace_no,
        frame_kind,
        pid,
        tid,
        start_ns as at_ns,
        1 as turn,
        start_ns - end_ns as shortness,
        1 as change,
        'frame' as point_kind,
        id
    from frame
    union all
    select
        trace_no,
        frame_kind,
        pid,
        tid,
        end_ns as at_ns,
        case when end_ns = start_ns then 2 else 0 end as turn,
        0 as shortness,
        -1 as change,
        'end' as point_kind,
        id
    from frame
    union all
    select
        trace_no,
        frame_kind,
        pid,
        tid,
        start_ns as at_ns,
        3 as turn,
        0 as shortness,
        0 as change,
        point_kind,
        id
    from point
),

placed as (
    select
        *,
        row_number() over (
            partition by trace_no, frame_kind, pid, tid
            order by at_ns, turn, shortness, point_kind, id
        ) as place,
        cast(
            sum(change) over (
                partition by trace_no, frame_kind, pid, tid
                order by at_ns, turn, shortness, point_kind, id
                rows unbounded preceding
            ) as bigint
        ) as depth
    from moment
),

looked as (
    select
        *,
        max(case when point_kind = 'frame' then place end) over (
            partition by trace_no, frame_kind, pid, tid, depth
            order by place
            rows unbounded preceding
        ) as frame_place
    from placed
)

select
    point.trace_no,
    point.point_kind,
    point.id as point_id,
    point.frame_kind,
    opened.id as frame_id
from looked as point
inner join placed as opened
    on point.trace_no = opened.trace_no
    and point.frame_kind = opened.frame_kind
    and point.pid = opened.pid
    and point.tid = opened.tid
    and point.frame_place = opened.place
    and opened.point_kind = 'frame'
where
    point.point_kind in ('launch', 'op')
    and point.depth > 0
    and point.at_ns <= opened.at_ns - opened.shortness
