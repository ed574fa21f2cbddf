/*
purpose: billed time by bucket, in_step by its parts, with what its cause is read from
grain: one row per bundle, GPU, hour, hold, bucket and the facts that name it
keys: bundle_id, gpu_uuid, hour_id, hold_id, bucket, is_policy, event_sub, is_reserve, is_after_steps, is_profiler, idle_id, cause_hold_id
columns:
    bundle_id | BIGINT | - | bundle
    gpu_uuid | VARCHAR | - | GPU
    hour_id | BIGINT | h | hours since the epoch
    hold_id | BIGINT | - | hold, 0 where none
    bucket | VARCHAR | - | bucket
    is_policy | BOOLEAN | - | a dated exception makes it policy
    event_sub | VARCHAR | - | provider_fault, own_maintenance or boot of an unusable GPU
    is_reserve | BOOLEAN | - | an approved reserve
    is_after_steps | BOOLEAN | - | between_steps after the last logged step
    is_profiler | BOOLEAN | - | between_steps around a trace
    idle_id | BIGINT | - | idle run, 0 where none
    cause_hold_id | BIGINT | - | hold of the rank that is waited for, 0 where none
    gpu_ns | BIGINT | ns | time
    less_ns | BIGINT | ns | time by which the low bound lies below
    more_ns | BIGINT | ns | time by which the high bound lies above
    evidence_grade | VARCHAR | - | grade of a part of in_step, else null
    method_id | VARCHAR | - | how a part of in_step was found, else null
*/
with level1 as (
    select
        bundle_id,
        gpu_uuid,
        hour_id,
        hold_id,
        bucket,
        is_policy,
        idle_id,
        is_reserve,
        case when bucket = 'unusable' then event_sub end as event_sub,
        bucket = 'between_steps' and is_after_steps as is_after_steps,
        bucket = 'between_steps' and is_profiler as is_profiler,
        cast(sum(end_ns - start_ns) as bigint) as gpu_ns
    from int_labelled
    where bucket <> 'in_step'
    group by
        bundle_id,
        gpu_uuid,
        hour_id,
        hold_id,
        bucket,
        is_policy,
        idle_id,
        is_reserve,
        case when bucket = 'unusable' then event_sub end,
        bucket = 'between_steps' and is_after_steps,
        bucket = 'between_steps' and is_profiler
)

select
    bundle_id,
    gpu_uuid,
    hour_id,
    hold_id,
    bucket,
    is_policy,
    event_sub,
    is_reserve,
    is_after_steps,
    is_profiler,
    idle_id,
    cast(0 as bigint) as cause_hold_id,
    gpu_ns,
    cast(0 as bigint) as less_ns,
    cast(0 as bigint) as more_ns,
    cast(null as varchar) as evidence_grade,
    cast(null as varchar) as method_id
from level1
union all
select
    split.bundle_id,
    hold.gpu_uuid,
    split.hour_id,
    split.hold_id,
    split.bucket,
    false as is_policy,
    cast(null as varchar) as event_sub,
    false as is_reserve,
    false as is_after_steps,
    false as is_profiler,
    0 as idle_id,
    split.cause_hold_id,
    split.gpu_ns,
    split.less_ns,
    split.more_ns,
    split.evidence_grade,
    split.method_id
from int_in_step_split as split
inner join int_hold as hold
    on split.hold_id = hold.hold_id
