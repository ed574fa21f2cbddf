/*
purpose: collectives with the moment from which each kernel no longer waits: when its last
    participant began, by the kernel's own host's clock. A match counts where the clocks of its
    hosts are known (int_host_clock) and its kernels overlap in time by them, since a collective
    ends nowhere before its last rank has begun.
grain: one row per collective kernel on a hold
keys: trace_no, event_no
columns:
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    is_matched | BOOLEAN | - | every participant's kernel is known
    last_start_ns | BIGINT | ns | when the last participant began, null where not matched
    last_low_ns | BIGINT | ns | the same at the earliest, as far as clocks are known
    last_high_ns | BIGINT | ns | the same at the latest
    last_hold_id | BIGINT | - | hold of the last participant, null where not matched
    matched_by | VARCHAR | - | seq, order or null
checks:
    last_in_bounds | blocking | not is_matched or (last_low_ns <= last_start_ns and last_start_ns <= last_high_ns)
*/
with first_rank as (
    select
        match_no,
        trace_no,
        node
    from (
        select
            *,
            row_number() over (partition by match_no order by rank, trace_no) as place
        from int_collective
        where match_no is not null
    ) as ranked
    where place = 1
),

-- By the clock of the first rank's host.
told as (
    select
        call.match_no,
        call.trace_no,
        call.event_no,
        call.hold_id,
        call.node,
        call.start_ns,
        call.end_ns,
        case when call.node = own.node then 0 else clock.ahead_ns end as ahead_ns,
        case when call.node = own.node then 0 else clock.low_ns end as low_ns,
        case when call.node = own.node then 0 else clock.high_ns end as high_ns
    from int_collective as call
    inner join first_rank as own
        on call.match_no = own.match_no
    left join int_host_clock as clock
        on own.trace_no = clock.first_trace_no
        and call.group_key = clock.group_key
        and call.node = clock.node
),

on_node as (
    select
        match_no,
        node,
        max(start_ns) as here_ns,
        max(start_ns - high_ns) as earliest_ns,
        max(start_ns - low_ns) as latest_ns,
        row_number() over (
            partition by match_no order by max(start_ns - low_ns) desc, node
        ) as place
    from told
    group by
        match_no,
        node
),

-- When the last of the other nodes began. Kernels of one node share its clock: no doubt there.
elsewhere as (
    select
        match_no,
        node,
        here_ns,
        max(earliest_ns) over of_match as earliest_ns,
        case
            when place > 1 then max(latest_ns) over of_match
            else max(case when place > 1 then latest_ns end) over of_match
        end as latest_ns
    from on_node
    window of_match as (partition by match_no)
),

placed as (
    select
        *,
        row_number() over (
            partition by match_no order by start_ns - ahead_ns desc, hold_id
        ) as place,
        max(start_ns - ahead_ns) over of_match as last_ns,
        min(end_ns - ahead_ns) over of_match as first_end_ns,
        count(*) over of_match - count(ahead_ns) over of_match as untold
    from told
    window of_match as (partition by match_no)
),

sound as (
    select *
    from placed
    where
        untold = 0
        and last_ns < first_end_ns
)

select
    call.trace_no,
    call.event_no,
    call.hold_id,
    call.start_ns,
    call.end_ns,
    sound.match_no is not null as is_matched,
    sound.last_ns + sound.ahead_ns as last_start_ns,
    greatest(elsewhere.here_ns, elsewhere.earliest_ns + sound.low_ns) as last_low_ns,
    greatest(
        elsewhere.here_ns,
        coalesce(elsewhere.latest_ns + sound.high_ns, elsewhere.here_ns)
    ) as last_high_ns,
    last_rank.hold_id as last_hold_id,
    case when sound.match_no is not null then call.matched_by end as matched_by
from int_collective as call
left join sound
    on call.trace_no = sound.trace_no
    and call.event_no = sound.event_no
    and call.hold_id = sound.hold_id
left join elsewhere
    on sound.match_no = elsewhere.match_no
    and call.node = elsewhere.node
left join sound as last_rank
    on sound.match_no = last_rank.match_no
    and last_rank.place = 1
