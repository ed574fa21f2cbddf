/*
purpose: which pieces of a GPU's time the bill pays.
    Held time first; then time about which the scheduler says nothing; then what a policy window
    covers; then time without a job; last, time in which the node was down: so what is not proven
    waste never makes room for waste, and a provider's fault that was not billed is not claimed. Unknown time that no sample shows
    fills its place but is not placed. Earliest first within each; the piece in which the quota
    runs out is cut there. Nothing is scaled.
grain: one row per GPU and elementary interval
keys: gpu_uuid, start_ns
columns:
    gpu_uuid | VARCHAR | - | GPU
    bundle_id | BIGINT | - | bundle
    start_ns | BIGINT | ns | start, epoch
    paid_until_ns | BIGINT | ns | end of the part that the bill pays, epoch
    end_ns | BIGINT | ns | end of the piece, epoch
    is_placed | BOOLEAN | - | something shows that the GPU was there
checks:
    paid_part_inside | blocking | paid_until_ns between start_ns and end_ns
*/
with place_of as (
    select
        piece.gpu_uuid,
        piece.bundle_id,
        gpu.place,
        piece.start_ns,
        piece.end_ns,
        case
            when piece.hold_id > 0 then 1
            when not piece.is_down and not piece.is_covered then 2
            when piece.has_maintenance or piece.has_reserve then 3
            when piece.is_down or piece.is_soft then 5
            else 4
        end as turn,
        piece.hold_id > 0 or piece.is_down or piece.is_covered or piece.is_seen
            as is_placed
    from int_elementary as piece
    inner join int_bundle_gpu as gpu
        on piece.bundle_id = gpu.bundle_id
        and piece.gpu_uuid = gpu.gpu_uuid
        and piece.start_ns >= gpu.start_ns
        and piece.end_ns <= gpu.end_ns
),

filled as (
    select
        *,
        cast(
            sum(end_ns - start_ns) over (
                partition by bundle_id, place
                order by turn, start_ns, gpu_uuid
                rows unbounded preceding
            ) as bigint
        ) - (end_ns - start_ns) as before_ns
    from place_of
)

select
    filled.gpu_uuid,
    filled.bundle_id,
    filled.start_ns,
    filled.start_ns
    + least(filled.end_ns - filled.start_ns, greatest(quota.quota_ns - filled.before_ns, 0))
        as paid_until_ns,
    filled.end_ns,
    filled.is_placed
from filled
inner join int_place_quota as quota
    on filled.bundle_id = quota.bundle_id
    and filled.place = quota.place
