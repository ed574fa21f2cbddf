/*
purpose: times in which a node or a GPU was not fit for work; an open end is the window's end
grain: one row per event
keys: cluster, node, gpu_uuid, start_ns, kind, source_file
columns:
    cluster | VARCHAR | - | cluster
    node | VARCHAR | - | node
    gpu_uuid | VARCHAR | - | the one GPU that is meant, null is the whole node
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    kind | VARCHAR | - | down, fatal_xid, drain, maintenance or boot
    is_hard | BOOLEAN | - | counts even while a job holds the GPU
    sub | VARCHAR | - | provider_fault, own_maintenance, boot or null
    source_file | VARCHAR | - | file
*/
select
    event.cluster,
    event.node,
    event.gpu_uuid,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', event.start) * 1000 as start_ns,
    coalesce(
        date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', event."end") * 1000,
        setting.window_end_ns
    ) as end_ns,
    event.kind,
    event.kind in ('down', 'fatal_xid') as is_hard,
    event.sub,
    event.source_file
from node_event as event
cross join run_setting as setting
