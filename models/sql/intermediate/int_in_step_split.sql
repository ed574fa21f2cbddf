/*
purpose: in_step time of a hold in an hour by what its counters prove.
    Without a reading nothing says what the GPU did: step_unsplit. With one, the share of time
    without the engine active is gap_unknown; the rest is compute on a job of one GPU, and
    busy_unsplit on several, since a rank that waits inside a collective is busy too.
grain: one row per bundle, hold, hour and bucket
keys: bundle_id, hold_id, hour_id, bucket
columns:
    bundle_id | BIGINT | - | bundle
    hold_id | BIGINT | - | hold
    hour_id | BIGINT | h | hours since the epoch
    bucket | VARCHAR | - | compute, gap_unknown, busy_unsplit or step_unsplit
    gpu_ns | BIGINT | ns | time; the parts sum to the in_step time
checks:
    part_not_negative | blocking | gpu_ns >= 0
*/
with in_step as (
    select
        bundle_id,
        hold_id,
        hour_id,
        cast(sum(total_ns) as bigint) as total_ns,
        cast(sum(observed_ns) as bigint) as observed_ns,
        cast(sum(engine_sum) as decimal(38, 0)) as engine_sum
    from int_activity
    where bundle_id > 0
    group by
        bundle_id,
        hold_id,
        hour_id
),

busy as (
    select
        in_step.*,
        least(
            in_step.observed_ns,
            cast(round(in_step.engine_sum * cast('0.000001' as decimal(7, 6)), 0) as bigint)
        ) as busy_ns,
        hold.gpu_count
    from in_step
    inner join int_hold as hold
        on in_step.hold_id = hold.hold_id
),

part as (
    select
        bundle_id,
        hold_id,
        hour_id,
        case when gpu_count = 1 then 'compute' else 'busy_unsplit' end as bucket,
        busy_ns as gpu_ns
    from busy
    union all
    select
        bundle_id,
        hold_id,
        hour_id,
        'gap_unknown' as bucket,
        observed_ns - busy_ns as gpu_ns
    from busy
    union all
    select
        bundle_id,
        hold_id,
        hour_id,
        'step_unsplit' as bucket,
        total_ns - observed_ns as gpu_ns
    from busy
)

select
    bundle_id,
    hold_id,
    hour_id,
    bucket,
    gpu_ns
from part
where gpu_ns <> 0
