/*
purpose: holds by the hours that they touch: the bucket by which samples and runs find their hold
    (an equality and a residual instead of a range join)
grain: one row per hold and hour
keys: hold_id, hour_id
columns:
    hold_id | BIGINT | - | hold
    gpu_uuid | VARCHAR | - | GPU
    hour_id | BIGINT | h | hours since the epoch
    start_ns | BIGINT | ns | start of the hold inside the hour, epoch
    end_ns | BIGINT | ns | end of the hold inside the hour, epoch, exclusive
*/
with hour_of as (
    select
        hold_id,
        gpu_uuid,
        start_ns,
        end_ns,
        unnest(generate_series(start_ns // 3600000000000, (end_ns - 1) // 3600000000000))
            as hour_id
    from int_hold
)

select
    hold_id,
    gpu_uuid,
    hour_id,
    greatest(start_ns, hour_id * 3600000000000) as start_ns,
    least(end_ns, (hour_id + 1) * 3600000000000) as end_ns
from hour_of
