/*
purpose: runs of samples of one kind without a hole.
    active: engine above the idle limit; quiet: engine at or below it and PCIe and NVLink quiet;
    busy_link: engine low, but traffic or no reading of it; a null engine is no observation.
grain: one row per GPU and run
keys: run_id
columns:
    run_id | BIGINT | - | number of the run, from 1
    gpu_uuid | VARCHAR | - | GPU
    activity | VARCHAR | - | active, quiet or busy_link
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    sample_count | BIGINT | rows | samples
    min_fb_used_bytes | BIGINT | B | least frame buffer in use
*/
with labelled as (
    select
        sample.gpu_uuid,
        sample.start_ns,
        sample.end_ns,
        sample.fb_used_bytes,
        case
            when sample.engine_ppm is null then 'none'
            when sample.engine_ppm > setting.engine_idle_ppm then 'active'
            when
                sample.pcie_bytes_s < setting.pcie_quiet_bytes_s
                and sample.nvlink_bytes_s < setting.nvlink_quiet_bytes_s
                then 'quiet'
            else 'busy_link'
        end as activity
    from int_sample as sample
    cross join run_setting as setting
),

marked as (
    select
        *,
        case
            when
                lag(activity) over (partition by gpu_uuid order by end_ns) = activity
                and lag(end_ns) over (partition by gpu_uuid order by end_ns) = start_ns
                then 0
            else 1
        end as is_new
    from labelled
),

numbered as (
    select
        *,
        cast(
            sum(is_new) over (partition by gpu_uuid order by end_ns rows unbounded preceding)
            as bigint
        ) as run_no
    from marked
),

run as (
    select
        gpu_uuid,
        run_no,
        activity,
        min(start_ns) as start_ns,
        max(end_ns) as end_ns,
        count(*) as sample_count,
        min(fb_used_bytes) as min_fb_used_bytes
    from numbered
    where activity <> 'none'
    group by
        gpu_uuid,
        run_no,
        activity
)

select
    cast(row_number() over (order by gpu_uuid, start_ns) as bigint) as run_id,
    gpu_uuid,
    activity,
    start_ns,
    end_ns,
    sample_count,
    min_fb_used_bytes
from run
