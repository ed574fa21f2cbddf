/*
purpose: how far the clock of each other host of a process group is ahead of its first rank's.
    A collective ends nowhere before its last rank has begun. So with each one that two hosts share,
    the one's latest start less the other's earliest end lies below the difference of their clocks,
    and the one's earliest end less the other's latest start above it. A collective ends on all
    ranks at about one time: the middle one of the differences of ends is the point. What disagrees
    with it is no match; where that is half of all or more, the clock is not known. Nor is it over a
    minute: numbers begin anew where ranks start again inside an attempt, and such two are no match.
grain: one row per first rank's trace, process group and other node
keys: first_trace_no, group_key, node
columns:
    first_trace_no | BIGINT | - | trace of the group's first rank
    group_key | VARCHAR | - | process group and its ranks
    node | VARCHAR | - | the other node
    ahead_ns | BIGINT | ns | its clock less the first rank's
    low_ns | BIGINT | ns | at least this
    high_ns | BIGINT | ns | at most this
    match_count | BIGINT | collectives | what it rests on
checks:
    inside | blocking | low_ns <= ahead_ns and ahead_ns <= high_ns
*/
with first_rank as (
    select
        match_no,
        group_key,
        trace_no as first_trace_no,
        node as first_node
    from (
        select
            *,
            row_number() over (partition by match_no order by rank, trace_no) as place
        from int_collective
        where match_no is not null
    ) as ranked
    where place = 1
),

on_node as (
    select
        match_no,
        node,
        max(start_ns) as last_start_ns,
        min(end_ns) as first_end_ns,
        max(end_ns) as last_end_ns
    from int_collective
    where match_no is not null
    group by
        match_no,
        node
),

pair as (
    select
        own.match_no,
        own.first_trace_no,
        own.group_key,
        other.node,
        other.last_end_ns - here.last_end_ns as ends_ns,
        other.last_start_ns - here.first_end_ns as above_ns,
        other.first_end_ns - here.last_start_ns as below_ns
    from first_rank as own
    inner join on_node as here
        on own.match_no = here.match_no
        and own.first_node = here.node
    inner join on_node as other
        on own.match_no = other.match_no
        and own.first_node <> other.node
),

placed as (
    select
        *,
        row_number() over (
            partition by first_trace_no, group_key, node order by ends_ns, match_no
        ) as place,
        count(*) over (partition by first_trace_no, group_key, node) as pair_count
    from pair
),

middle as (
    select
        first_trace_no,
        group_key,
        node,
        pair_count,
        ends_ns as ahead_ns
    from placed
    where place = (pair_count + 1) // 2
)

select
    pair.first_trace_no,
    pair.group_key,
    pair.node,
    middle.ahead_ns,
    max(pair.above_ns) as low_ns,
    min(pair.below_ns) as high_ns,
    count(*) as match_count
from pair
inner join middle
    on pair.first_trace_no = middle.first_trace_no
    and pair.group_key = middle.group_key
    and pair.node = middle.node
    and pair.above_ns < middle.ahead_ns
    and pair.below_ns > middle.ahead_ns
where abs(middle.ahead_ns) <= 60000000000
group by
    pair.first_trace_no,
    pair.group_key,
    pair.node,
    middle.ahead_ns,
    middle.pair_count
having count(*) * 2 > middle.pair_count
