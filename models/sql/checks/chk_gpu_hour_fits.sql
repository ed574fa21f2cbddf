/*
purpose: a GPU has no more billed time in an hour than the hour has
level: blocking
columns:
    gpu_uuid | VARCHAR | - | GPU
    hour_id | BIGINT | h | hours since the epoch
    gpu_ns | BIGINT | ns | billed time
*/
select
    gpu_uuid,
    hour_id,
    cast(sum(gpu_ns) as bigint) as gpu_ns
from int_state
where gpu_uuid is not null
group by
    gpu_uuid,
    hour_id
having sum(gpu_ns) > 3600000000000
