/*
purpose: per GPU, day and field, for how long a reading was to be had and for how long it was valid.
    expected: the inventory says that the GPU was there. invalid: a value was delivered that is no
    reading (nan, a sentinel, out of range). A sample counts on the day of its end.
grain: one row per GPU, day and field
keys: gpu_uuid, day, field, cluster, node
columns:
    month | DATE | - | month of the day
    source | VARCHAR | - | telemetry
    cluster | VARCHAR | - | cluster, null where the inventory does not know the GPU
    node | VARCHAR | - | node
    gpu_uuid | VARCHAR | - | GPU
    day | DATE | - | day
    field | VARCHAR | - | field of gpu_sample; pcie and nvlink are both ways
    expected_ns | BIGINT | ns | time for which the inventory has the GPU, null where it does not
    observed_ns | BIGINT | ns | time with a valid reading of the field
    invalid_ns | BIGINT | ns | time with a delivered value that is no reading
*/
with field as (
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'gpu_util_ratio' as field,
        gpu_util_ratio_seen as observed_ns,
        gpu_util_ratio_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'engine_active_ratio' as field,
        engine_active_ratio_seen as observed_ns,
        engine_active_ratio_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'sm_active_ratio' as field,
        sm_active_ratio_seen as observed_ns,
        sm_active_ratio_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'sm_occupancy_ratio' as field,
        sm_occupancy_ratio_seen as observed_ns,
        sm_occupancy_ratio_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'tensor_active_ratio' as field,
        tensor_active_ratio_seen as observed_ns,
        tensor_active_ratio_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'dram_active_ratio' as field,
        dram_active_ratio_seen as observed_ns,
        dram_active_ratio_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'pcie_bytes_s' as field,
        pcie_bytes_s_seen as observed_ns,
        pcie_bytes_s_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'nvlink_bytes_s' as field,
        nvlink_bytes_s_seen as observed_ns,
        nvlink_bytes_s_bad as invalid_ns
    from int_gpu_day
    union all
    select
        gpu_uuid,
        day_id,
        cluster,
        node,
        expected_ns,
        'fb_used_bytes' as field,
        fb_used_bytes_seen as observed_ns,
        fb_used_bytes_bad as invalid_ns
    from int_gpu_day
)

select
    hour_of.month,
    'telemetry' as source,
    field.cluster,
    field.node,
    field.gpu_uuid,
    cast(hour_of.hour as date) as day,
    field.field,
    field.expected_ns,
    coalesce(field.observed_ns, 0) as observed_ns,
    coalesce(field.invalid_ns, 0) as invalid_ns
from field
inner join run_hour as hour_of
    on field.day_id * 24 = hour_of.hour_id
