/*
purpose: which GPU was where, in time; an open end is the end of the run's window
grain: one row per GPU and time in which it was in one place
keys: gpu_uuid, start_ns
columns:
    gpu_uuid | VARCHAR | - | GPU
    slice_id | VARCHAR | - | MIG slice, null is the whole GPU
    resource_id | VARCHAR | - | resource of the bill that pays for it
    cluster | VARCHAR | - | cluster
    node | VARCHAR | - | node
    gpu_index | BIGINT | - | index on the node as the scheduler counts
    gpu_model | VARCHAR | - | model as the driver names it
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    source_file | VARCHAR | - | file
checks:
    whole_gpus_only | blocking | slice_id is null
*/
select
    place.gpu_uuid,
    place.slice_id,
    place.resource_id,
    place.cluster,
    place.node,
    place.gpu_index,
    place.gpu_model,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', place.start) * 1000 as start_ns,
    coalesce(
        date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', place."end") * 1000,
        setting.window_end_ns
    ) as end_ns,
    place.source_file
from gpu_inventory as place
cross join run_setting as setting
where
    place."end" is not null
    or date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', place.start) * 1000 < setting.window_end_ns
