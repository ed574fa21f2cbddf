/*
purpose: GPU-Util beside what the GPU did: engine, SM, occupancy, tensor, DRAM and MFU.
    Each mean is over the time with a valid reading of its own field. MFU = model FLOPs of the
    scope's steps / (the scope's time x dense peak of the number format).
grain: one row per month, attempt and scope, and one per team (job_id null); an attempt of several
    GPUs has besides one row per rank
keys: month, team, cluster, job_id, attempt, rank, scope
columns:
    month | DATE | - | month
    team | VARCHAR | - | team
    cluster | VARCHAR | - | cluster, null on a team's row
    job_id | VARCHAR | - | job, null on a team's row
    attempt | BIGINT | - | attempt, null on a team's row
    rank | BIGINT | - | rank of one GPU of several; null on an attempt's and a team's row
    scope | VARCHAR | - | allocated, first_to_last_step or in_steps
    gpu_util_ratio | DOUBLE | ratio | GPU-Util: presence, not work
    engine_active_ratio | DOUBLE | ratio | engine active
    sm_active_ratio | DOUBLE | ratio | SM active
    sm_occupancy_ratio | DOUBLE | ratio | SM occupancy
    tensor_active_ratio | DOUBLE | ratio | tensor active
    dram_active_ratio | DOUBLE | ratio | DRAM active
    mfu_ratio | DOUBLE | ratio | model FLOPs utilisation, null without steps or peak
    model_flops | DECIMAL(38,0) | FLOP | numerator of mfu_ratio
    peak_flops | DECIMAL(38,0) | FLOP | denominator of mfu_ratio
    observed_ns | BIGINT | ns | GPU-time with a valid reading of the engine
    total_ns | BIGINT | ns | GPU-time of the scope
checks:
    mfu_at_most_one | blocking | mfu_ratio is null or mfu_ratio <= 1
    ratios_at_most_one | warning | coalesce(tensor_active_ratio, 0) <= 1.05 and coalesce(sm_active_ratio, 0) <= coalesce(engine_active_ratio, 1) + 0.05
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
        cast(sum(model_flops) as decimal(38, 0)) as model_flops
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
        cast(sum(work.model_flops) as decimal(38, 0)) as model_flops
    from work
    inner join run_hour as hour_of
        on work.hour_id = hour_of.hour_id
    group by
        hour_of.month,
        work.hold_id
),

per_hold as (
    select
        timed.*,
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
),

-- One row per rank, one per attempt, one per team, by the same sums.
level as (
    select month, team, cluster, job_id, attempt, rank, scope, hold_id as member
    from per_hold
    where rank_count > 1
    union all
    select month, team, cluster, job_id, attempt, cast(null as bigint), scope, hold_id
    from per_hold
    union all
    select
        month,
        team,
        cast(null as varchar),
        cast(null as varchar),
        cast(null as bigint),
        cast(null as bigint),
        scope,
        hold_id
    from per_hold
),

summed as (
    select
        level.month,
        level.team,
        level.cluster,
        level.job_id,
        level.attempt,
        level.rank,
        level.scope,
        cast(sum(hold.total_ns) as bigint) as total_ns,
        cast(sum(hold.observed_ns) as bigint) as observed_ns,
        cast(sum(hold.gpu_util_ns) as bigint) as gpu_util_ns,
        cast(sum(hold.gpu_util_sum) as decimal(38, 0)) as gpu_util_sum,
        cast(sum(hold.engine_sum) as decimal(38, 0)) as engine_sum,
        cast(sum(hold.sm_ns) as bigint) as sm_ns,
        cast(sum(hold.sm_sum) as decimal(38, 0)) as sm_sum,
        cast(sum(hold.occupancy_ns) as bigint) as occupancy_ns,
        cast(sum(hold.occupancy_sum) as decimal(38, 0)) as occupancy_sum,
        cast(sum(hold.tensor_ns) as bigint) as tensor_ns,
        cast(sum(hold.tensor_sum) as decimal(38, 0)) as tensor_sum,
        cast(sum(hold.dram_ns) as bigint) as dram_ns,
        cast(sum(hold.dram_sum) as decimal(38, 0)) as dram_sum,
        cast(
            sum(case when hold.peak_flops is not null then hold.model_flops end) as decimal(38, 0)
        ) as model_flops,
        cast(
            sum(case when hold.model_flops is not null then hold.peak_flops end) as decimal(38, 0)
        ) as peak_flops
    from level
    inner join per_hold as hold
        on level.month = hold.month
        and level.member = hold.hold_id
        and level.scope = hold.scope
    group by
        level.month,
        level.team,
        level.cluster,
        level.job_id,
        level.attempt,
        level.rank,
        level.scope
)

select
    month,
    team,
    cluster,
    job_id,
    attempt,
    rank,
    scope,
    cast(gpu_util_sum as double) / cast(nullif(gpu_util_ns, 0) as double) * 0.000001
        as gpu_util_ratio,
    cast(engine_sum as double) / cast(nullif(observed_ns, 0) as double) * 0.000001
        as engine_active_ratio,
    cast(sm_sum as double) / cast(nullif(sm_ns, 0) as double) * 0.000001 as sm_active_ratio,
    cast(occupancy_sum as double) / cast(nullif(occupancy_ns, 0) as double) * 0.000001
        as sm_occupancy_ratio,
    cast(tensor_sum as double) / cast(nullif(tensor_ns, 0) as double) * 0.000001
        as tensor_active_ratio,
    cast(dram_sum as double) / cast(nullif(dram_ns, 0) as double) * 0.000001 as dram_active_ratio,
    cast(model_flops as double) / cast(nullif(peak_flops, 0) as double) as mfu_ratio,
    model_flops,
    peak_flops,
    observed_ns,
    total_ns
from summed
