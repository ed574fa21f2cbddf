/*
purpose: per GPU and day, for how long it was there to be sampled, and for how long each field had a
    valid reading (_seen) or a delivered value that is no reading (_bad). A sample counts on the day
    of its end.
grain: one row per GPU, day and place
keys: gpu_uuid, day_id, cluster, node
columns:
    gpu_uuid | VARCHAR | - | GPU
    day_id | BIGINT | d | days since the epoch
    cluster | VARCHAR | - | cluster, null where the inventory does not know the GPU
    node | VARCHAR | - | node
    expected_ns | BIGINT | ns | time for which the inventory has the GPU
    gpu_util_ratio_seen | BIGINT | ns | time with a valid reading
    gpu_util_ratio_bad | BIGINT | ns | time with an invalid value
    engine_active_ratio_seen | BIGINT | ns | time with a valid reading
    engine_active_ratio_bad | BIGINT | ns | time with an invalid value
    sm_active_ratio_seen | BIGINT | ns | time with a valid reading
    sm_active_ratio_bad | BIGINT | ns | time with an invalid value
    sm_occupancy_ratio_seen | BIGINT | ns | time with a valid reading
    sm_occupancy_ratio_bad | BIGINT | ns | time with an invalid value
    tensor_active_ratio_seen | BIGINT | ns | time with a valid reading
    tensor_active_ratio_bad | BIGINT | ns | time with an invalid value
    dram_active_ratio_seen | BIGINT | ns | time with a valid reading
    dram_active_ratio_bad | BIGINT | ns | time with an invalid value
    pcie_bytes_s_seen | BIGINT | ns | time with a valid reading
    pcie_bytes_s_bad | BIGINT | ns | time with an invalid value
    nvlink_bytes_s_seen | BIGINT | ns | time with a valid reading
    nvlink_bytes_s_bad | BIGINT | ns | time with an invalid value
    fb_used_bytes_seen | BIGINT | ns | time with a valid reading
    fb_used_bytes_bad | BIGINT | ns | time with an invalid value
*/
with place_day as (
    select
        place.gpu_uuid,
        place.cluster,
        place.node,
        greatest(place.start_ns, setting.window_start_ns) as start_ns,
        least(place.end_ns, setting.window_end_ns) as end_ns
    from stg_gpu_inventory as place
    cross join run_setting as setting
    where
        place.start_ns < setting.window_end_ns
        and place.end_ns > setting.window_start_ns
),

day_of as (
    select
        gpu_uuid,
        cluster,
        node,
        start_ns,
        end_ns,
        unnest(generate_series(start_ns // 86400000000000, (end_ns - 1) // 86400000000000))
            as day_id
    from place_day
),

expected as (
    select
        gpu_uuid,
        cluster,
        node,
        day_id,
        cast(
            sum(
                least(end_ns, (day_id + 1) * 86400000000000)
                - greatest(start_ns, day_id * 86400000000000)
            ) as bigint
        ) as expected_ns
    from day_of
    group by
        gpu_uuid,
        cluster,
        node,
        day_id
),

sampled as (
    select
        gpu_uuid,
        (end_ns - 1) // 86400000000000 as day_id,
        cast(sum(case when gpu_util_ppm is not null then end_ns - start_ns else 0 end) as bigint)
            as gpu_util_ratio_seen,
        cast(sum(case when invalid_mask // 1 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as gpu_util_ratio_bad,
        cast(sum(case when engine_ppm is not null then end_ns - start_ns else 0 end) as bigint)
            as engine_active_ratio_seen,
        cast(sum(case when invalid_mask // 2 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as engine_active_ratio_bad,
        cast(sum(case when sm_ppm is not null then end_ns - start_ns else 0 end) as bigint)
            as sm_active_ratio_seen,
        cast(sum(case when invalid_mask // 4 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as sm_active_ratio_bad,
        cast(sum(case when occupancy_ppm is not null then end_ns - start_ns else 0 end) as bigint)
            as sm_occupancy_ratio_seen,
        cast(sum(case when invalid_mask // 8 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as sm_occupancy_ratio_bad,
        cast(sum(case when tensor_ppm is not null then end_ns - start_ns else 0 end) as bigint)
            as tensor_active_ratio_seen,
        cast(sum(case when invalid_mask // 16 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as tensor_active_ratio_bad,
        cast(sum(case when dram_ppm is not null then end_ns - start_ns else 0 end) as bigint)
            as dram_active_ratio_seen,
        cast(sum(case when invalid_mask // 32 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as dram_active_ratio_bad,
        cast(sum(case when pcie_bytes_s is not null then end_ns - start_ns else 0 end) as bigint)
            as pcie_bytes_s_seen,
        cast(
            sum(
                case
                    when invalid_mask // 512 % 2 = 1 or invalid_mask // 1024 % 2 = 1
                        then end_ns - start_ns
                    else 0
                end
            ) as bigint
        ) as pcie_bytes_s_bad,
        cast(sum(case when nvlink_bytes_s is not null then end_ns - start_ns else 0 end) as bigint)
            as nvlink_bytes_s_seen,
        cast(
            sum(
                case
                    when invalid_mask // 2048 % 2 = 1 or invalid_mask // 4096 % 2 = 1
                        then end_ns - start_ns
                    else 0
                end
            ) as bigint
        ) as nvlink_bytes_s_bad,
        cast(sum(case when fb_used_bytes is not null then end_ns - start_ns else 0 end) as bigint)
            as fb_used_bytes_seen,
        cast(sum(case when invalid_mask // 32768 % 2 = 1 then end_ns - start_ns else 0 end) as bigint)
            as fb_used_bytes_bad
    from int_sample
    group by
        gpu_uuid,
        (end_ns - 1) // 86400000000000
)

select
    coalesce(expected.gpu_uuid, sampled.gpu_uuid) as gpu_uuid,
    coalesce(expected.day_id, sampled.day_id) as day_id,
    expected.cluster,
    expected.node,
    expected.expected_ns,
    sampled.gpu_util_ratio_seen,
    sampled.gpu_util_ratio_bad,
    sampled.engine_active_ratio_seen,
    sampled.engine_active_ratio_bad,
    sampled.sm_active_ratio_seen,
    sampled.sm_active_ratio_bad,
    sampled.sm_occupancy_ratio_seen,
    sampled.sm_occupancy_ratio_bad,
    sampled.tensor_active_ratio_seen,
    sampled.tensor_active_ratio_bad,
    sampled.dram_active_ratio_seen,
    sampled.dram_active_ratio_bad,
    sampled.pcie_bytes_s_seen,
    sampled.pcie_bytes_s_bad,
    sampled.nvlink_bytes_s_seen,
    sampled.nvlink_bytes_s_bad,
    sampled.fb_used_bytes_seen,
    sampled.fb_used_bytes_bad
from expected
full outer join sampled
    on expected.gpu_uuid = sampled.gpu_uuid
    and expected.day_id = sampled.day_id
