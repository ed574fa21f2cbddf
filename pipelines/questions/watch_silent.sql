-- GPUs without a sample for a number of whole hours, inside the time that any source covers and the
-- GPU was there. GPUs that never gave a sample are none of these: plumbline doctor names them.
with covered as (
    select
        greatest(min("start"), cast($first as timestamptz)) as "start",
        least(max("end"), cast($end as timestamptz)) as "end"
    from source_coverage
    where not is_cut
),

sampled as (
    select distinct
        gpu_uuid,
        cast(floor(epoch_us(ts) / 3600000000) as bigint) as hour_id
    from gpu_sample
    where ts >= cast($first as timestamptz) and ts < cast($end as timestamptz)
),

-- whole hours of the time in which a GPU was in one place and covered
place as (
    select
        inventory.gpu_uuid,
        inventory.node,
        cast(
            ceil(epoch_us(greatest(inventory."start", covered."start")) / 3600000000) as bigint
        ) as first_hour,
        cast(
            floor(
                epoch_us(least(coalesce(inventory."end", covered."end"), covered."end"))
                / 3600000000
            ) as bigint
        ) as end_hour
    from gpu_inventory as inventory
    cross join covered
    where inventory.gpu_uuid in (select gpu_uuid from gpu_sample)
),

mark as (
    select gpu_uuid, node, first_hour, first_hour - 1 as hour_id
    from place
    where end_hour > first_hour
    union all
    select gpu_uuid, node, first_hour, end_hour as hour_id
    from place
    where end_hour > first_hour
    union all
    select place.gpu_uuid, place.node, place.first_hour, sampled.hour_id
    from place
    inner join sampled
        on sampled.gpu_uuid = place.gpu_uuid
        and sampled.hour_id >= place.first_hour
        and sampled.hour_id < place.end_hour
),

gap as (
    select
        gpu_uuid,
        node,
        lag(hour_id) over (partition by gpu_uuid, first_hour order by hour_id) + 1 as from_hour,
        hour_id as to_hour
    from mark
)

select
    gpu_uuid,
    node,
    to_timestamp(from_hour * 3600) as silent_from,
    to_hour - from_hour as silent_hours
from gap
where to_hour - from_hour >= $hours
order by
    silent_hours desc,
    gpu_uuid,
    silent_from
