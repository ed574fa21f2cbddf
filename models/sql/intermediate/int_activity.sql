/*
purpose: what the counters say of each hold: time and exact sums per field, by hour, by whether it
    lies in paid in_step time, in a logged step, and between first and last step.
grain: one row per hold, hour, bundle of paid in_step time, and the two flags
keys: hold_id, hour_id, bundle_id, is_step, is_window
columns:
    hold_id | BIGINT | - | hold
    hour_id | BIGINT | h | hours since the epoch
    bundle_id | BIGINT | - | bundle whose paid in_step time it is, 0 where it is none
    is_step | BOOLEAN | - | inside a logged step
    is_window | BOOLEAN | - | between the start of the first and the end of the last logged step
    total_ns | BIGINT | ns | time
    observed_ns | BIGINT | ns | time with a valid reading of the engine
    sample_count | BIGINT | rows | samples that speak for some of it
    gpu_util_ns | BIGINT | ns | time with a valid reading of GPU-Util
    gpu_util_sum | DECIMAL(38,0) | 1e-6 ns | reading x time
    engine_sum | DECIMAL(38,0) | 1e-6 ns | engine active x time
    sm_ns | BIGINT | ns | time with a valid reading
    sm_sum | DECIMAL(38,0) | 1e-6 ns | SM active x time
    occupancy_ns | BIGINT | ns | time with a valid reading
    occupancy_sum | DECIMAL(38,0) | 1e-6 ns | SM occupancy x time
    tensor_ns | BIGINT | ns | time with a valid reading
    tensor_sum | DECIMAL(38,0) | 1e-6 ns | tensor active x time
    dram_ns | BIGINT | ns | time with a valid reading
    dram_sum | DECIMAL(38,0) | 1e-6 ns | DRAM active x time
    energy_ns | BIGINT | ns | time for which the energy counter gives a difference
    energy_mj | BIGINT | mJ | energy in that time
*/
with measured as (
    select
        piece.hold_id,
        piece.hour_id,
        piece.bundle_id,
        piece.is_step,
        piece.is_window,
        piece.end_ns - piece.start_ns as part_ns,
        sample.sample_no,
        sample.end_ns - sample.start_ns as sample_ns,
        sample.gpu_util_ppm,
        sample.engine_ppm,
        sample.sm_ppm,
        sample.occupancy_ppm,
        sample.tensor_ppm,
        sample.dram_ppm,
        sample.energy_mj
    from int_hold_piece as piece
    inner join int_hold as hold
        on piece.hold_id = hold.hold_id
    left join int_sample as sample
        on hold.gpu_uuid = sample.gpu_uuid
        and piece.sample_no = sample.sample_no
)

select
    hold_id,
    hour_id,
    bundle_id,
    is_step,
    is_window,
    cast(sum(part_ns) as bigint) as total_ns,
    cast(coalesce(sum(case when engine_ppm is not null then part_ns end), 0) as bigint)
        as observed_ns,
    count(distinct sample_no) as sample_count,
    cast(coalesce(sum(case when gpu_util_ppm is not null then part_ns end), 0) as bigint)
        as gpu_util_ns,
    cast(coalesce(sum(cast(gpu_util_ppm * part_ns as decimal(38, 0))), 0) as decimal(38, 0))
        as gpu_util_sum,
    cast(coalesce(sum(cast(engine_ppm * part_ns as decimal(38, 0))), 0) as decimal(38, 0))
        as engine_sum,
    cast(coalesce(sum(case when sm_ppm is not null then part_ns end), 0) as bigint) as sm_ns,
    cast(coalesce(sum(cast(sm_ppm * part_ns as decimal(38, 0))), 0) as decimal(38, 0)) as sm_sum,
    cast(coalesce(sum(case when occupancy_ppm is not null then part_ns end), 0) as bigint)
        as occupancy_ns,
    cast(coalesce(sum(cast(occupancy_ppm * part_ns as decimal(38, 0))), 0) as decimal(38, 0))
        as occupancy_sum,
    cast(coalesce(sum(case when tensor_ppm is not null then part_ns end), 0) as bigint)
        as tensor_ns,
    cast(coalesce(sum(cast(tensor_ppm * part_ns as decimal(38, 0))), 0) as decimal(38, 0))
        as tensor_sum,
    cast(coalesce(sum(case when dram_ppm is not null then part_ns end), 0) as bigint) as dram_ns,
    cast(coalesce(sum(cast(dram_ppm * part_ns as decimal(38, 0))), 0) as decimal(38, 0))
        as dram_sum,
    cast(coalesce(sum(case when energy_mj is not null then part_ns end), 0) as bigint)
        as energy_ns,
    cast(
        coalesce(sum(energy_mj * (part_ns // 1000) // (sample_ns // 1000)), 0) as bigint
    ) as energy_mj
from measured
group by
    hold_id,
    hour_id,
    bundle_id,
    is_step,
    is_window
