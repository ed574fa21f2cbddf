/*
purpose: which GPU each device of a trace is.
    A process of one rank works on the GPU of its rank: the device on which it is busy longest. A
    process that is the whole attempt counts its devices in the order of the attempt's GPUs. Other
    devices, such as a peer's that it copies to, are nobody's here.
    Two traces of one GPU at one time tell the same work twice, as a cut file beside the whole one:
    of those that share more than half of the shorter one's time, the one with more work counts.
grain: one row per trace and device that is a GPU of the attempt
keys: trace_no, device
columns:
    trace_no | BIGINT | - | trace
    device | BIGINT | - | device as the process counts
    hold_id | BIGINT | - | hold of the GPU
*/
with used as (
    select
        trace.trace_no,
        work.device,
        count(*) as work_count,
        cast(sum(work.end_ns - work.start_ns) as bigint) as busy_ns
    from int_trace as trace
    inner join stg_trace_kernel as work
        on trace.source_file = work.source_file
    group by
        trace.trace_no,
        work.device
),

ranked as (
    select
        trace_no,
        device,
        work_count,
        row_number() over (partition by trace_no order by device) as device_no,
        row_number() over (partition by trace_no order by busy_ns desc, device) as busy_no,
        count(*) over (partition by trace_no) as device_count
    from used
),

found as (
    select
        ranked.trace_no,
        ranked.device,
        ranked.work_count,
        hold.hold_id,
        row_number() over (
            partition by ranked.trace_no, ranked.device
            order by hold.start_ns, hold.hold_id
        ) as hold_no
    from ranked
    inner join int_trace as trace
        on ranked.trace_no = trace.trace_no
    inner join int_hold as hold
        on trace.cluster = hold.cluster
        and trace.job_id = hold.job_id
        and trace.attempt = hold.attempt
        and trace.start_ns < hold.end_ns
        and trace.end_ns > hold.start_ns
        and case
            when
                coalesce(trace.world_size, 1) = 1
                and ranked.device_count > 1
                and ranked.device_count = hold.rank_count
                and hold.rank_count = hold.gpu_count
                then hold.rank = ranked.device_no - 1
            else hold.rank = trace.rank and ranked.busy_no = 1
        end
),

-- A whole file before one that was cut, then the fullest first.
ordered as (
    select
        found.trace_no,
        found.device,
        found.hold_id,
        trace.start_ns,
        trace.end_ns,
        row_number() over (
            order by trace.is_truncated, found.work_count desc, found.trace_no, found.device
        ) as turn
    from found
    inner join int_trace as trace
        on found.trace_no = trace.trace_no
    where found.hold_no = 1
)

select
    trace_no,
    device,
    hold_id
from ordered as one
where not exists (
    select 1 as better
    from ordered as other
    where
        other.hold_id = one.hold_id
        and other.trace_no <> one.trace_no
        and other.turn < one.turn
        and (least(other.end_ns, one.end_ns) - greatest(other.start_ns, one.start_ns)) * 2
        > least(other.end_ns - other.start_ns, one.end_ns - one.start_ns)
)
