/*
purpose: what the counters and the steps of each hold sum to, by month and scope: the rungs of the
    ladder before any division
grain: one row per month, hold and scope
keys: month, hold_id, scope
columns:
    month | DATE | - | month
    team | VARCHAR | - | team
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    rank | BIGINT | - | rank of the GPU within the attempt
    rank_count | BIGINT | GPUs | GPUs of the attempt that are known
    hold_id | BIGINT | - | hold
    scope | VARCHAR | - | allocated, first_to_last_step or in_steps
    total_ns | BIGINT | ns | time of the scope
    observed_ns | BIGINT | ns | time with a valid reading of the engine
    gpu_util_ns | BIGINT | ns | time with a valid reading of GPU-Util
    gpu_util_sum | DECIMAL(38,0) | 1e-6 ns | reading x time
    engine_sum | DECIMAL(38,0) | 1e-6 ns | engine active x time
    sm_ns | BIGINT | ns | time with a valid reading
    sm_sum | DECIMAL(38,0) | 1e-6 ns | reading x time
    occupancy_ns | BIGINT | ns | time with a valid reading
    occupancy_sum | DECIMAL(38,0) | 1e-6 ns | reading x time
    tensor_ns | BIGINT | ns | time with a valid reading
    tensor_sum | DECIMAL(38,0) | 1e-6 ns | reading x time
    dram_ns | BIGINT | ns | time with a valid reading
    dram_sum | DECIMAL(38,0) | 1e-6 ns | reading x time
    model_flops | DECIMAL(38,0) | FLOP | model FLOPs of its steps, null where any step has none
    peak_flops | DECIMAL(38,0) | FLOP | dense peak over the scope's time, null where not known
*/
with scoped as (
    select *, 'allocated' as scope
    from int_activity
    union all
    select *, 'first_to_last_step' as scope
    from int_activity
    where is_window
    union all
    select *, 'in_steps' as scope
    from int_activity
    where is_step
),

format_of as (
    select
        hold_id,
        max(dtype) as dtype
    from int_step
    group by hold_id
),

peak as (
    select
        hold.hold_id,
        gpu_peak.peak_flop_s
    from int_hold as hold
    cross join run_setting as setting
    inner join format_of
        on hold.hold_id = format_of.hold_id
    inner join gpu_peak
        on hold.gpu_model = gpu_peak.gpu_model
        and coalesce(format_of.dtype, setting.mfu_dtype) = gpu_peak.dtype
),

work as (
    select
        hold_id,
        start_ns // 3600000000000 as hour_id,
        -- Steps without FLOPs are not steps of 0 FLOPs: a part would be an MFU that is too low.
        case
            when count(model_flops) = count(*) then cast(sum(model_flops) as decimal(38, 0))
        end as model_flops
    from int_step
    group by
        hold_id,
        start_ns // 3600000000000
),

timed as (
    select
        hour_of.month,
        hold.team,
        hold.cluster,
        hold.job_id,
        hold.attempt,
        hold.rank,
        hold.rank_count,
        scoped.hold_id,
        scoped.scope,
        cast(sum(total_ns) as bigint) as total_ns,
        cast(sum(observed_ns) as bigint) as observed_ns,
        cast(sum(gpu_util_ns) as bigint) as gpu_util_ns,
        cast(sum(gpu_util_sum) as decimal(38, 0)) as gpu_util_sum,
        cast(sum(engine_sum) as decimal(38, 0)) as engine_sum,
        cast(sum(sm_ns) as bigint) as sm_ns,
        cast(sum(sm_sum) as decimal(38, 0)) as sm_sum,
        cast(sum(occupancy_ns) as bigint) as occupancy_ns,
        cast(sum(occupancy_sum) as decimal(38, 0)) as occupancy_sum,
        cast(sum(tensor_ns) as bigint) as tensor_ns,
        cast(sum(tensor_sum) as decimal(38, 0)) as tensor_sum,
        cast(sum(dram_ns) as bigint) as dram_ns,
        cast(sum(dram_sum) as decimal(38, 0)) as dram_sum
    from scoped
    inner join int_hold as hold
        on scoped.hold_id = hold.hold_id
    inner join run_hour as hour_of
        on scoped.hour_id = hour_of.hour_id
    group by
        hour_of.month,
        hold.team,
        hold.cluster,
        hold.job_id,
        hold.attempt,
        hold.rank,
        hold.rank_count,
        scoped.hold_id,
        scoped.scope
),

worked as (
    select
        hour_of.month,
        work.hold_id,
        case
            when count(work.model_flops) = count(*)
                then cast(sum(work.model_flops) as decimal(38, 0))
        end as model_flops
    from work
    inner join run_hour as hour_of
        on work.hour_id = hour_of.hour_id
    group by
        hour_of.month,
        work.hold_id
)

select
    timed.month,
    timed.team,
    timed.cluster,
    timed.job_id,
    timed.attempt,
    timed.rank,
    timed.rank_count,
    timed.hold_id,
    timed.scope,
    timed.total_ns,
    timed.observed_ns,
    timed.gpu_util_ns,
    timed.gpu_util_sum,
    timed.engine_sum,
    timed.sm_ns,
    timed.sm_sum,
    timed.occupancy_ns,
    timed.occupancy_sum,
    timed.tensor_ns,
    timed.tensor_sum,
    timed.dram_ns,
    timed.dram_sum,
    worked.model_flops,
    -- ns x (FLOP/s)/1e9 is FLOP exactly: every peak of the seed is a multiple of 1e9.
    cast(
        cast(timed.total_ns as decimal(20, 0))
        * cast(peak.peak_flop_s // 1000000000 as decimal(18, 0)) as decimal(38, 0)
    ) as peak_flops
from timed
left join worked
    on timed.month = worked.month
    and timed.hold_id = worked.hold_id
left join peak
    on timed.hold_id = peak.hold_id
