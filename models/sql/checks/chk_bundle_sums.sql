/*
purpose: the rows of a bundle sum to what it bills, and nothing is negative
level: blocking
columns:
    bundle_id | BIGINT | - | bundle
    billed_gpu_ns | BIGINT | ns | billed GPU-time
    state_gpu_ns | BIGINT | ns | GPU-time of its rows
    least_gpu_ns | BIGINT | ns | the least row
*/
with summed as (
    select
        bundle_id,
        cast(sum(gpu_ns) as bigint) as state_gpu_ns,
        min(gpu_ns) as least_gpu_ns
    from int_state
    group by bundle_id
)

select
    bundle.bundle_id,
    bundle.billed_gpu_ns,
    summed.state_gpu_ns,
    summed.least_gpu_ns
from int_bundle as bundle
left join summed
    on bundle.bundle_id = summed.bundle_id
where
    summed.state_gpu_ns is null
    or summed.state_gpu_ns <> bundle.billed_gpu_ns
    or summed.least_gpu_ns < 0
