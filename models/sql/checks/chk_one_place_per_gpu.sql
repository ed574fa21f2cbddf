/*
purpose: a GPU is in one place at a time, so no instant of it is billed twice
level: blocking
columns:
    gpu_uuid | VARCHAR | - | GPU
    bundle_id | BIGINT | - | later bundle
    start_ns | BIGINT | ns | its start, epoch
    earlier_end_ns | BIGINT | ns | end of an earlier stay, epoch
*/
with ordered as (
    select
        gpu_uuid,
        bundle_id,
        start_ns,
        max(end_ns) over (
            partition by gpu_uuid
            order by start_ns, bundle_id
            rows between unbounded preceding and 1 preceding
        ) as earlier_end_ns
    from int_bundle_gpu
)

select
    gpu_uuid,
    bundle_id,
    start_ns,
    earlier_end_ns
from ordered
where earlier_end_ns > start_ns
