/*
purpose: samples with ratios as whole millionths, so that their sums are exact in any order
grain: one row per GPU or slice and sample
keys: gpu_uuid, slice_id, ts_ns, source_file, source_row
columns:
    gpu_uuid | VARCHAR | - | GPU
    slice_id | VARCHAR | - | MIG slice, null is the whole GPU
    ts_ns | BIGINT | ns | end of the time that the sample speaks for, epoch
    period_ns | BIGINT | ns | nominal time between samples
    gpu_util_ppm | BIGINT | 1e-6 | GPU-Util: presence, never used as work
    engine_ppm | BIGINT | 1e-6 | engine active
    sm_ppm | BIGINT | 1e-6 | SM active
    occupancy_ppm | BIGINT | 1e-6 | SM occupancy
    tensor_ppm | BIGINT | 1e-6 | tensor active
    dram_ppm | BIGINT | 1e-6 | DRAM active
    pcie_bytes_s | BIGINT | B/s | PCIe both ways, null where either is null
    nvlink_bytes_s | BIGINT | B/s | NVLink both ways, null where either is null
    fb_used_bytes | BIGINT | B | frame buffer used
    energy_mj | BIGINT | mJ | energy counter
    invalid_mask | BIGINT | bits | fields that were delivered but are no valid reading
    source_file | VARCHAR | - | file
    source_row | BIGINT | - | line of the file
checks:
    whole_gpus_only | blocking | slice_id is null
*/
select
    gpu_uuid,
    slice_id,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', ts) * 1000 as ts_ns,
    period_us * 1000 as period_ns,
    cast(round(cast(gpu_util_ratio as double) * 1000000, 0) as bigint) as gpu_util_ppm,
    cast(round(cast(engine_active_ratio as double) * 1000000, 0) as bigint) as engine_ppm,
    cast(round(cast(sm_active_ratio as double) * 1000000, 0) as bigint) as sm_ppm,
    cast(round(cast(sm_occupancy_ratio as double) * 1000000, 0) as bigint) as occupancy_ppm,
    cast(round(cast(tensor_active_ratio as double) * 1000000, 0) as bigint) as tensor_ppm,
    cast(round(cast(dram_active_ratio as double) * 1000000, 0) as bigint) as dram_ppm,
    pcie_tx_bytes_s + pcie_rx_bytes_s as pcie_bytes_s,
    nvlink_tx_bytes_s + nvlink_rx_bytes_s as nvlink_bytes_s,
    fb_used_bytes,
    energy_mj,
    invalid_mask,
    source_file,
    source_row
from gpu_sample
