/*
purpose: samples with the time that each speaks for: from the sample before it to its own instant.
    Where the one before is more than 1.5 periods away it speaks for one period only: what lies
    between is a hole, so a lost record can never lengthen an idle run. A file of a single sample
    has no period: its sample speaks for no time and is left out.
grain: one row per GPU and sample
keys: gpu_uuid, sample_no
columns:
    gpu_uuid | VARCHAR | - | GPU
    sample_no | BIGINT | - | number of the sample of this GPU, from 1
    start_ns | BIGINT | ns | start of the time it speaks for, epoch
    end_ns | BIGINT | ns | end of the time it speaks for, epoch
    gpu_util_ppm | BIGINT | 1e-6 | GPU-Util
    engine_ppm | BIGINT | 1e-6 | engine active
    sm_ppm | BIGINT | 1e-6 | SM active
    occupancy_ppm | BIGINT | 1e-6 | SM occupancy
    tensor_ppm | BIGINT | 1e-6 | tensor active
    dram_ppm | BIGINT | 1e-6 | DRAM active
    pcie_bytes_s | BIGINT | B/s | PCIe both ways
    nvlink_bytes_s | BIGINT | B/s | NVLink both ways
    fb_used_bytes | BIGINT | B | frame buffer used
    energy_mj | BIGINT | mJ | energy used in the time it speaks for, null where not known
    invalid_mask | BIGINT | bits | fields without a valid reading
    source_file | VARCHAR | - | file
checks:
    sample_in_order | blocking | start_ns < end_ns
*/
with single as (
    select
        *,
        row_number() over (
            partition by gpu_uuid, ts_ns
            order by
                case when engine_ppm is null then 1 else 0 end,
                source_file,
                source_row
        ) as pick
    from stg_gpu_sample
),

ordered as (
    select
        *,
        lag(ts_ns) over (partition by gpu_uuid order by ts_ns) as last_ts_ns,
        lag(energy_mj) over (partition by gpu_uuid order by ts_ns) as last_energy_mj,
        row_number() over (partition by gpu_uuid order by ts_ns) as sample_no
    from single
    where pick = 1
)

select
    gpu_uuid,
    cast(sample_no as bigint) as sample_no,
    case
        when (ts_ns - last_ts_ns) * 2 <= period_ns * 3 then last_ts_ns
        else ts_ns - period_ns
    end as start_ns,
    ts_ns as end_ns,
    gpu_util_ppm,
    engine_ppm,
    sm_ppm,
    occupancy_ppm,
    tensor_ppm,
    dram_ppm,
    pcie_bytes_s,
    nvlink_bytes_s,
    fb_used_bytes,
    case
        when (ts_ns - last_ts_ns) * 2 <= period_ns * 3 and energy_mj >= last_energy_mj
            then energy_mj - last_energy_mj
    end as energy_mj,
    invalid_mask,
    source_file
from ordered
where
    period_ns > 0
    or last_ts_ns is not null and (ts_ns - last_ts_ns) * 2 <= period_ns * 3
