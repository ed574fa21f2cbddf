/*
purpose: in_step time of a hold in an hour by the best evidence that it has.
    With traced steps: by their weights (int_trace_weight), over all its in_step time. Else by the
    counters: the share of time without the engine active is gap_unknown; the rest is compute on a
    job of one GPU and busy_unsplit on several, since a rank that waits inside a collective is busy
    too. Without any reading: step_unsplit.
grain: one row per bundle, hold, hour, bucket and straggler
keys: bundle_id, hold_id, hour_id, bucket, cause_hold_id
columns:
    bundle_id | BIGINT | - | bundle
    hold_id | BIGINT | - | hold
    hour_id | BIGINT | h | hours since the epoch
    bucket | VARCHAR | - | bucket inside steps
    cause_hold_id | BIGINT | - | hold of the rank that is waited for, 0 where none
    gpu_ns | BIGINT | ns | time; the parts sum to the in_step time
    less_ns | BIGINT | ns | time by which the low bound lies below
    more_ns | BIGINT | ns | time by which the high bound lies above
    evidence_grade | VARCHAR | - | E1 without counters, E2 + counters, E3 + sampled traces, E4 every step traced
    method_id | VARCHAR | - | in_step_engine_share, in_step_trace, in_step_trace_unfit or step_unsplit
checks:
    part_not_negative | blocking | gpu_ns >= 0
    bounds_not_negative | blocking | less_ns >= 0 and more_ns >= 0 and less_ns <= gpu_ns
*/
with in_step as (
    select
        bundle_id,
        hold_id,
        hour_id,
        cast(sum(total_ns) as bigint) as total_ns,
        cast(sum(observed_ns) as bigint) as observed_ns,
        least(
            cast(sum(observed_ns) as bigint),
            cast(
                round(
                    cast(sum(engine_sum) as decimal(38, 0)) * cast('0.000001' as decimal(7, 6)), 0
                ) as bigint
            )
        ) as busy_ns
    from int_activity
    where bundle_id > 0
    group by
        bundle_id,
        hold_id,
        hour_id
),

cell as (
    select
        in_step.*,
        weight.bucket,
        weight.cause_hold_id,
        weight.weight,
        cast(
            sum(weight.weight) over (
                partition by in_step.bundle_id, in_step.hold_id, in_step.hour_id
            ) as bigint
        ) as all_weight,
        cast(
            sum(weight.weight) over (
                partition by in_step.bundle_id, in_step.hold_id, in_step.hour_id, weight.bucket
            ) as bigint
        ) as bucket_weight,
        cast(in_step.total_ns as hugeint) * weight.weight as product
    from in_step
    inner join int_trace_weight as weight
        on in_step.hold_id = weight.hold_id
),

floored as (
    select
        *,
        cast(product // all_weight as bigint) as base_ns,
        product % all_weight as remainder
    from cell
    where all_weight > 0
),

-- Largest remainder: what rounding down leaves goes to the largest fractions, a nanosecond each.
shared as (
    select
        *,
        base_ns
        + case
            when
                row_number() over (
                    partition by bundle_id, hold_id, hour_id
                    order by remainder desc, bucket, cause_hold_id
                )
                <= total_ns - cast(
                    sum(base_ns) over (partition by bundle_id, hold_id, hour_id) as bigint
                ) then 1
            else 0
        end as gpu_ns
    from floored
),

traced as (
    select
        shared.bundle_id,
        shared.hold_id,
        shared.hour_id,
        shared.bucket,
        shared.cause_hold_id,
        shared.total_ns,
        shared.busy_ns,
        shared.total_ns - shared.observed_ns as unseen_ns,
        shared.gpu_ns,
        hold.gpu_count,
        fit.is_unfit_attempt,
        fit.is_every_step,
        -- Doubt about what of its collectives was waiting, scaled from the traced time to this.
        cast(
            cast(coalesce(doubt.less_ns, 0) as hugeint) * shared.total_ns // shared.all_weight
            * shared.weight // shared.bucket_weight as bigint
        ) as wait_less_ns,
        cast(
            cast(coalesce(doubt.more_ns, 0) as hugeint) * shared.total_ns // shared.all_weight
            * shared.weight // shared.bucket_weight as bigint
        ) as wait_more_ns
    from shared
    inner join int_hold as hold
        on shared.hold_id = hold.hold_id
    inner join int_trace_fit as fit
        on shared.hold_id = fit.hold_id
    left join int_wait_bound as doubt
        on shared.hold_id = doubt.hold_id
),

-- Under five windows there is no interval: the bounds are what counters and logic leave open.
bounded as (
    select
        *,
        case
            when is_unfit_attempt then 0
            when is_every_step and bucket = 'comm_wait' then greatest(gpu_ns - wait_less_ns, 0)
            when is_every_step and bucket = 'comm_exposed' then greatest(gpu_ns - wait_more_ns, 0)
            when is_every_step then gpu_ns
            when bucket = 'compute' and gpu_count = 1 then least(gpu_ns, busy_ns)
            else 0
        end as low_ns,
        case
            when is_unfit_attempt then total_ns
            when is_every_step and bucket = 'comm_wait'
                then least(gpu_ns + wait_more_ns, total_ns)
            when is_every_step and bucket = 'comm_exposed'
                then least(gpu_ns + wait_less_ns, total_ns)
            when is_every_step then gpu_ns
            when bucket in ('compute', 'comm_wait', 'comm_exposed')
                then greatest(gpu_ns, busy_ns + unseen_ns)
            else greatest(gpu_ns, total_ns - busy_ns)
        end as high_ns
    from traced
),

by_counter as (
    select
        in_step.*,
        hold.gpu_count
    from in_step
    inner join int_hold as hold
        on in_step.hold_id = hold.hold_id
    where not exists (
        select 1 as one
        from traced
        where
            traced.bundle_id = in_step.bundle_id
            and traced.hold_id = in_step.hold_id
            and traced.hour_id = in_step.hour_id
    )
),

part as (
    select
        bundle_id,
        hold_id,
        hour_id,
        case when gpu_count = 1 then 'compute' else 'busy_unsplit' end as bucket,
        busy_ns as gpu_ns
    from by_counter
    union all
    select
        bundle_id,
        hold_id,
        hour_id,
        'gap_unknown' as bucket,
        observed_ns - busy_ns as gpu_ns
    from by_counter
    union all
    select
        bundle_id,
        hold_id,
        hour_id,
        'step_unsplit' as bucket,
        total_ns - observed_ns as gpu_ns
    from by_counter
)

select
    bundle_id,
    hold_id,
    hour_id,
    bucket,
    cause_hold_id,
    gpu_ns,
    gpu_ns - low_ns as less_ns,
    high_ns - gpu_ns as more_ns,
    case when is_every_step and not is_unfit_attempt then 'E4' else 'E3' end as evidence_grade,
    case when is_unfit_attempt then 'in_step_trace_unfit' else 'in_step_trace' end as method_id
from bounded
where gpu_ns <> 0
union all
select
    bundle_id,
    hold_id,
    hour_id,
    bucket,
    0 as cause_hold_id,
    gpu_ns,
    0 as less_ns,
    0 as more_ns,
    case when bucket = 'step_unsplit' then 'E1' else 'E2' end as evidence_grade,
    case when bucket = 'step_unsplit' then 'step_unsplit' else 'in_step_engine_share' end
        as method_id
from part
where gpu_ns <> 0
