/*
purpose: kernel launches of a trace of which the trace shows no work of the GPU: the profiler can lose
    kernels without a word (first ones after a long idle time, or times out of its window), and what
    it lost would pass for gaps
grain: one row per trace with launches
keys: trace_no
columns:
    trace_no | BIGINT | - | trace
    launch_count | BIGINT | calls | launches of kernels and graphs
    lost_count | BIGINT | calls | of them, without any work
*/
select
    trace.trace_no,
    count(*) as launch_count,
    count(*) filter (where worked.correlation is null) as lost_count
from int_trace as trace
inner join stg_trace_launch as launch
    on trace.source_file = launch.source_file
    and launch.correlation is not null
    and regexp_matches(launch.name, '^(cuda|cu|hip)(Ext)?(Module)?(LaunchKernel|GraphLaunch)')
left join (
    select distinct
        source_file,
        correlation
    from stg_trace_kernel
    where correlation is not null
) as worked
    on launch.source_file = worked.source_file
    and launch.correlation = worked.correlation
where trace.job_id is not null
group by trace.trace_no
