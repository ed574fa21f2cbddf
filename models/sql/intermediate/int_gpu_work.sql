/*
purpose: what each GPU did in its traces, on the hold that it worked for
grain: one row per activity
keys: trace_no, event_no
columns:
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    kind | VARCHAR | - | compute, comm or copy
    family | VARCHAR | - | kernel family
    correlation | BIGINT | - | ties to the launch
    external_id | BIGINT | - | ties to the op
    is_graph | BOOLEAN | - | replayed by a graph, by its node or its launch
    is_tf32 | BOOLEAN | - | the name says that it multiplies in TF32
    bytes | BIGINT | B | bytes that a copy or fill moves
    collective | VARCHAR | - | collective
    group_name | VARCHAR | - | process group
    group_key | VARCHAR | - | process group and its ranks
    group_size | BIGINT | ranks | ranks in the group
    seq | BIGINT | - | number of the collective in its group
    in_elements | BIGINT | elements | elements that go in
*/
select
    trace.trace_no,
    work.event_no,
    device.hold_id,
    work.start_ns,
    work.end_ns,
    work.kind,
    work.family,
    work.correlation,
    work.external_id,
    work.is_graph or coalesce(launch.is_graph, false) as is_graph,
    regexp_matches(work.name, 'tf32|s1688gemm|s1688tf32') as is_tf32,
    work.bytes,
    work.collective,
    work.group_name,
    work.group_key,
    work.group_size,
    work.seq,
    work.in_elements
from int_trace as trace
inner join int_trace_device as device
    on trace.trace_no = device.trace_no
inner join stg_trace_kernel as work
    on trace.source_file = work.source_file
    and device.device = work.device
left join int_launch as launch
    on trace.trace_no = launch.trace_no
    and work.correlation = launch.correlation
-- Whole-microsecond traces of 2021 have kernels of no length: work, but no time to divide.
where work.end_ns > work.start_ns
