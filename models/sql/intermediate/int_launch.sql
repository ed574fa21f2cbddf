/*
purpose: the call of the host that launched each piece of GPU work, by correlation within its trace
grain: one row per trace and correlation
keys: trace_no, correlation
columns:
    trace_no | BIGINT | - | trace
    correlation | BIGINT | - | correlation
    pid | BIGINT | - | process
    tid | BIGINT | - | thread
    start_ns | BIGINT | ns | start of the call, epoch
    end_ns | BIGINT | ns | end of the call, epoch
    is_graph | BOOLEAN | - | it launches a graph
*/
with numbered as (
    select
        trace.trace_no,
        launch.correlation,
        launch.pid,
        launch.tid,
        launch.start_ns,
        launch.end_ns,
        launch.name in ('cudaGraphLaunch', 'cuGraphLaunch', 'hipGraphLaunch') as is_graph,
        row_number() over (
            partition by trace.trace_no, launch.correlation
            order by launch.start_ns, launch.event_no
        ) as call_no
    from int_trace as trace
    inner join stg_trace_launch as launch
        on trace.source_file = launch.source_file
    where
        launch.correlation is not null
        and trace.job_id is not null
)

select
    trace_no,
    correlation,
    pid,
    tid,
    start_ns,
    end_ns,
    is_graph
from numbered
where call_no = 1
