/*
purpose: what the counters say of each hold: time and exact sums per field, by hour, by whether it
    lies in paid in_step time, in a logged step, and between first and last step.
    A sweep over samples, steps and paid in_step pieces of the hold.
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
with hold_hour as (
    select
        hold_id,
        gpu_uuid,
        start_ns,
        end_ns,
        unnest(generate_series(start_ns // 3600000000000, (end_ns - 1) // 3600000000000))
            as hour_id
    from int_hold
),

sample_hour as (
    select
        gpu_uuid,
        sample_no,
        start_ns,
        end_ns,
        unnest(generate_series(start_ns // 3600000000000, (end_ns - 1) // 3600000000000))
            as hour_id
    from int_sample
),

edge as (
    select
        hold_id,
        'hour' as kind,
        hour_id as id,
        greatest(start_ns, hour_id * 3600000000000) as start_ns,
        least(end_ns, (hour_id + 1) * 3600000000000) as end_ns
    from hold_hour
    union all
    select
        hold.hold_id,
        'sample' as kind,
        sample.sample_no as id,
        greatest(sample.start_ns, hold.start_ns, hold.hour_id * 3600000000000) as start_ns,
        least(sample.end_ns, hold.end_ns, (hold.hour_id + 1) * 3600000000000) as end_ns
    from hold_hour as hold
    inner join sample_hour as sample
        on hold.gpu_uuid = sample.gpu_uuid
        and hold.hour_id = sample.hour_id
        and sample.start_ns < hold.end_ns
        and sample.end_ns > hold.start_ns
    union all
    select hold_id, 'in_step' as kind, bundle_id as id, start_ns, end_ns
    from int_labelled
    where bucket = 'in_step'
    union all
    select hold_id, 'step' as kind, 1 as id, start_ns, end_ns
    from int_step
    union all
    select hold_id, 'window' as kind, 1 as id, first_step_ns as start_ns, last_step_ns as end_ns
    from int_hold_fact
    where has_log
),

moment as (
    select hold_id, kind, start_ns as at_ns, id as step_id
    from edge
    where start_ns < end_ns
    union all
    select hold_id, kind, end_ns as at_ns, -id as step_id
    from edge
    where start_ns < end_ns
),

net as (
    select
        hold_id,
        at_ns,
        cast(sum(case when kind = 'hour' then step_id else 0 end) as bigint) as hour_id,
        cast(sum(case when kind = 'sample' then step_id else 0 end) as bigint) as sample_no,
        cast(sum(case when kind = 'in_step' then step_id else 0 end) as bigint) as bundle_id,
        cast(sum(case when kind = 'step' then step_id else 0 end) as bigint) as step,
        cast(sum(case when kind = 'window' then step_id else 0 end) as bigint) as inside
    from moment
    group by
        hold_id,
        at_ns
),

piece as (
    select
        hold_id,
        at_ns as start_ns,
        lead(at_ns) over (partition by hold_id order by at_ns) as end_ns,
        cast(sum(hour_id) over so_far as bigint) as hour_id,
        cast(sum(sample_no) over so_far as bigint) as sample_no,
        cast(sum(bundle_id) over so_far as bigint) as bundle_id,
        cast(sum(step) over so_far as bigint) > 0 as is_step,
        cast(sum(inside) over so_far as bigint) > 0 as is_window
    from net
    window so_far as (partition by hold_id order by at_ns rows unbounded preceding)
),

measured as (
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
    from piece
    inner join int_hold as hold
        on piece.hold_id = hold.hold_id
    left join int_sample as sample
        on hold.gpu_uuid = sample.gpu_uuid
        and piece.sample_no = sample.sample_no
    where
        piece.end_ns > piece.start_ns
        and piece.hour_id > 0
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
