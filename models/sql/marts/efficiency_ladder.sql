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
    observed_ns | DECIMAL(38,0) | ns | GPU-time with a valid reading of the engine
    total_ns | DECIMAL(38,0) | ns | GPU-time of the scope
checks:
    mfu_at_most_one | blocking | mfu_ratio is null or mfu_ratio <= 1
    ratios_at_most_one | warning | coalesce(tensor_active_ratio, 0) <= 1.05 and coalesce(sm_active_ratio, 0) <= coalesce(engine_active_ratio, 1) + 0.05
*/
-- One row per rank, one per attempt, one per team, by the same sums.
with level as (
    select month, team, cluster, job_id, attempt, rank, scope, hold_id as member
    from int_ladder_hold
    where rank_count > 1
    union all
    select month, team, cluster, job_id, attempt, cast(null as bigint), scope, hold_id
    from int_ladder_hold
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
    from int_ladder_hold
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
        cast(sum(hold.total_ns) as decimal(38, 0)) as total_ns,
        cast(sum(hold.observed_ns) as decimal(38, 0)) as observed_ns,
        cast(sum(hold.gpu_util_ns) as decimal(38, 0)) as gpu_util_ns,
        cast(sum(hold.gpu_util_sum) as decimal(38, 0)) as gpu_util_sum,
        cast(sum(hold.engine_sum) as decimal(38, 0)) as engine_sum,
        cast(sum(hold.sm_ns) as decimal(38, 0)) as sm_ns,
        cast(sum(hold.sm_sum) as decimal(38, 0)) as sm_sum,
        cast(sum(hold.occupancy_ns) as decimal(38, 0)) as occupancy_ns,
        cast(sum(hold.occupancy_sum) as decimal(38, 0)) as occupancy_sum,
        cast(sum(hold.tensor_ns) as decimal(38, 0)) as tensor_ns,
        cast(sum(hold.tensor_sum) as decimal(38, 0)) as tensor_sum,
        cast(sum(hold.dram_ns) as decimal(38, 0)) as dram_ns,
        cast(sum(hold.dram_sum) as decimal(38, 0)) as dram_sum,
        cast(
            sum(case when hold.peak_flops is not null then hold.model_flops end) as decimal(38, 0)
        ) as model_flops,
        cast(
            sum(case when hold.model_flops is not null then hold.peak_flops end) as decimal(38, 0)
        ) as peak_flops
    from level
    inner join int_ladder_hold as hold
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
