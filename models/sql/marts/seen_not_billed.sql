/*
purpose: GPU-time that records show and the bill does not pay; 0 USD, outside every sum
grain: one row per resource, GPU, hour and job attempt
keys: month, resource_id, gpu_uuid, hour, cluster, job_id, attempt
columns:
    month | DATE | - | month of the hour
    resource_id | VARCHAR | - | resource
    gpu_uuid | VARCHAR | - | GPU
    hour | TIMESTAMP WITH TIME ZONE | UTC | hour
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job, null where none held it
    attempt | BIGINT | - | attempt
    gpu_ns | BIGINT | ns | time
*/
select
    hour_of.month,
    bundle.resource_id,
    placement.gpu_uuid,
    hour_of.hour,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    cast(sum(placement.end_ns - placement.paid_until_ns) as bigint) as gpu_ns
from int_placement as placement
inner join int_elementary as piece
    on placement.gpu_uuid = piece.gpu_uuid
    and placement.start_ns = piece.start_ns
inner join int_bundle as bundle
    on placement.bundle_id = bundle.bundle_id
inner join run_hour as hour_of
    on piece.hour_id = hour_of.hour_id
left join int_hold as hold
    on piece.hold_id = hold.hold_id
where
    placement.is_placed
    and placement.paid_until_ns < placement.end_ns
group by
    hour_of.month,
    bundle.resource_id,
    placement.gpu_uuid,
    hour_of.hour,
    hold.cluster,
    hold.job_id,
    hold.attempt
