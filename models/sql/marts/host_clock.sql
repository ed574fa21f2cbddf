/*
purpose: how far clocks of hosts differ, as the collectives that they share in traces tell; what
    comm_wait across hosts is told by
grain: one row per first rank's trace, process group and other node
keys: month, source_file, group_key, node
columns:
    month | DATE | - | month in which the first rank's trace begins
    source_file | VARCHAR | - | trace of the group's first rank
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    group_key | VARCHAR | - | process group and its ranks
    first_node | VARCHAR | - | node of the group's first rank
    node | VARCHAR | - | the other node
    ahead_ns | BIGINT | ns | the other's clock less the first's
    low_ns | BIGINT | ns | at least this
    high_ns | BIGINT | ns | at most this
    match_count | BIGINT | collectives | what it rests on
*/
with located as (
    select
        trace_no,
        min(node) as node
    from int_collective
    group by trace_no
)

select
    hour_of.month,
    trace.source_file,
    trace.cluster,
    trace.job_id,
    trace.attempt,
    clock.group_key,
    located.node as first_node,
    clock.node,
    clock.ahead_ns,
    clock.low_ns,
    clock.high_ns,
    clock.match_count
from int_host_clock as clock
inner join int_trace as trace
    on clock.first_trace_no = trace.trace_no
inner join run_hour as hour_of
    on trace.start_ns // 3600000000000 = hour_of.hour_id
inner join located
    on clock.first_trace_no = located.trace_no
