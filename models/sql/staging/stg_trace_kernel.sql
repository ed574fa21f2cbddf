/*
purpose: what GPUs did in traces: kernels, copies and fills
grain: one row per activity
keys: source_file, event_no
columns:
    source_file | VARCHAR | - | file
    event_no | BIGINT | - | event in the file
    device | BIGINT | - | device as the process counts
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    kind | VARCHAR | - | compute, comm or copy
    name | VARCHAR | - | name
    family | VARCHAR | - | name without what varies
    correlation | BIGINT | - | ties to the launch
    external_id | BIGINT | - | ties to the op
    is_graph | BOOLEAN | - | replayed by a graph
    bytes | BIGINT | B | bytes moved or written by a copy or fill
    collective | VARCHAR | - | collective
    group_name | VARCHAR | - | process group
    group_key | VARCHAR | - | process group and its ranks
    group_size | BIGINT | ranks | ranks in the group
    seq | BIGINT | - | number of the collective in its group
    in_elements | BIGINT | elements | elements that go in
*/
select
    source_file,
    event_no,
    device,
    start_ns,
    end_ns,
    kind,
    name,
    family,
    correlation,
    external_id,
    graph_node_id is not null as is_graph,
    bytes,
    collective,
    group_name,
    case when group_name is not null then concat(group_name, ' ', coalesce(group_ranks, '')) end
        as group_key,
    group_size,
    seq,
    in_elements
from trace_kernel
