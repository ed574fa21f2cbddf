/*
purpose: the GPUs that the inventory ties to a bundle's resource, in the bundle's time
grain: one row per bundle, GPU and stay
keys: bundle_id, gpu_uuid, start_ns
columns:
    bundle_id | BIGINT | - | bundle
    gpu_uuid | VARCHAR | - | GPU
    place | VARCHAR | - | the place that is billed: the index on the node, or the GPU itself
    cluster | VARCHAR | - | cluster
    node | VARCHAR | - | node
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
checks:
    stay_in_order | blocking | start_ns < end_ns
*/
select
    bundle.bundle_id,
    gpu.gpu_uuid,
    -- concat leaves nulls out in one engine and is null in the other: so they are asked for.
    case
        when gpu.node is not null and gpu.gpu_index is not null
            then concat(gpu.node, ':', cast(gpu.gpu_index as varchar))
        else gpu.gpu_uuid
    end as place,
    gpu.cluster,
    gpu.node,
    greatest(bundle.start_ns, gpu.start_ns) as start_ns,
    least(bundle.end_ns, gpu.end_ns) as end_ns
from int_bundle as bundle
inner join stg_gpu_inventory as gpu
    on bundle.resource_id = gpu.resource_id
    and gpu.start_ns < bundle.end_ns
    and gpu.end_ns > bundle.start_ns
    and gpu.end_ns > gpu.start_ns
