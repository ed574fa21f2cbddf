/*
purpose: how much of a bundle's billed time each place on the node may fill: equal shares over the
    billed GPUs by largest remainder, places with the most held time first
grain: one row per bundle and place
keys: bundle_id, place
columns:
    bundle_id | BIGINT | - | bundle
    place | VARCHAR | - | place on the node
    quota_ns | BIGINT | ns | billed time of the place
checks:
    quota_not_negative | blocking | quota_ns >= 0
*/
with held as (
    select
        gpu.bundle_id,
        gpu.place,
        cast(
            sum(case when piece.hold_id > 0 then piece.end_ns - piece.start_ns else 0 end)
            as bigint
        ) as held_ns
    from int_bundle_gpu as gpu
    left join int_elementary as piece
        on gpu.bundle_id = piece.bundle_id
        and gpu.gpu_uuid = piece.gpu_uuid
        and piece.start_ns >= gpu.start_ns
        and piece.end_ns <= gpu.end_ns
    group by
        gpu.bundle_id,
        gpu.place
),

ranked as (
    select
        bundle_id,
        place,
        row_number() over (
            partition by bundle_id
            order by held_ns desc, length(place), place
        ) as place_no
    from held
)

select
    ranked.bundle_id,
    ranked.place,
    case
        when ranked.place_no > bundle.gpu_count then 0
        else
            bundle.billed_gpu_ns // bundle.gpu_count
            + case when ranked.place_no <= bundle.billed_gpu_ns % bundle.gpu_count then 1 else 0 end
    end as quota_ns
from ranked
inner join int_bundle as bundle
    on ranked.bundle_id = bundle.bundle_id
