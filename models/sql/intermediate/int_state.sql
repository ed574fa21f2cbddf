/*
purpose: billed GPU-time of each bundle by GPU, hour, bucket, cause and payer; what the bill has
    and nothing shows is one row of its own, so that the rows of a bundle sum to what it bills
grain: one row per bundle, GPU, hour, bucket, sub, cause and hold
keys: bundle_id, row_no
columns:
    bundle_id | BIGINT | - | bundle
    row_no | BIGINT | - | number of the row in its bundle, from 1, in a stable order
    resource_id | VARCHAR | - | resource
    gpu_uuid | VARCHAR | - | GPU, null where nothing shows one
    hour_id | BIGINT | h | hours since the epoch, null where nothing places it
    bucket | VARCHAR | - | bucket
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    sub | VARCHAR | - | kind within the bucket
    cause | VARCHAR | - | whose doing it is
    cause_ref | VARCHAR | - | the failed attempt that is the cause
    payer_team | VARCHAR | - | team that holds it and pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    hold_id | BIGINT | - | hold, 0 where none
    gpu_ns | BIGINT | ns | time
    low_gpu_ns | BIGINT | ns | low bound of this part alone
    high_gpu_ns | BIGINT | ns | high bound of this part alone
    evidence_grade | VARCHAR | - | E0 bill, E1 + scheduler, E2 + counters
    method_id | VARCHAR | - | how the row was found
checks:
    bounds_in_order | blocking | low_gpu_ns <= gpu_ns and gpu_ns <= high_gpu_ns
    not_negative | blocking | low_gpu_ns >= 0
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
        cast(sum(end_ns - start_ns) as bigint) as gpu_ns
    from int_labelled
    where bucket <> 'in_step'
    group by all
),

part as (
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
        idle_id,
        gpu_ns
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
        0 as idle_id,
        split.gpu_ns
    from int_in_step_split as split
    inner join int_hold as hold
        on split.hold_id = hold.hold_id
),

lost_more as (
    select
        bundle_id,
        gpu_uuid,
        hour_id,
        hold_id,
        cast(sum(end_ns - start_ns) as bigint) as more_ns
    from int_labelled
    where is_lost_high
    group by
        bundle_id,
        gpu_uuid,
        hour_id,
        hold_id
),

described as (
    select
        part.bundle_id,
        bundle.resource_id,
        part.gpu_uuid,
        part.hour_id,
        part.bucket,
        case when part.is_policy then 'policy' else rule.waste_class end as waste_class,
        case
            when part.bucket = 'unusable' then part.event_sub
            when part.is_reserve then 'held_reserve'
            when part.bucket = 'idle_held' then idle.sub
            when part.is_after_steps then 'after_last_step'
        end as sub,
        case
            when part.bucket = 'unusable' and part.event_sub = 'provider_fault' then 'provider'
            when part.bucket in ('unusable', 'unallocated') then 'platform'
            when part.bucket = 'not_observed' and part.hold_id = 0 then 'scheduler_missing'
            when part.bucket = 'not_observed' then 'telemetry'
            when part.bucket = 'lost_work' then loss.cause
            when part.bucket in ('startup', 'startup_excess') and fact.failed_attempt is not null
                then fact.failure_cause
            when part.bucket in ('gap_unknown', 'busy_unsplit', 'step_unsplit') then 'unknown'
            else 'own_code'
        end as cause,
        case
            when part.bucket = 'lost_work'
                then concat(hold.cluster, '/', hold.job_id, '/', cast(hold.attempt as varchar))
            when part.bucket in ('startup', 'startup_excess') and fact.failed_attempt is not null
                then concat(
                    hold.cluster, '/', hold.job_id, '/', cast(fact.failed_attempt as varchar)
                )
        end as cause_ref,
        case
            when part.hold_id > 0 then hold.team
            when part.bucket = 'not_observed' then coalesce(tag.team, 'unmapped')
            else 'platform'
        end as payer_team,
        hold.cluster,
        hold.job_id,
        hold.attempt,
        part.hold_id,
        part.gpu_ns,
        case
            when part.bucket = 'lost_work' then coalesce(lost_more.more_ns, 0)
            else 0
        end as more_ns,
        case
            when part.bucket in ('unusable', 'unallocated', 'lost_work', 'startup_excess') then 'E1'
            when part.bucket in ('recovery_checkpoint', 'step_unsplit') then 'E1'
            when part.bucket = 'startup' and fact.has_log then 'E1'
            when part.bucket = 'not_observed' and part.hold_id = 0 then 'E0'
            when part.bucket = 'not_observed' then 'E1'
            else 'E2'
        end as evidence_grade,
        case
            when part.bucket = 'lost_work' then concat('lost_work_', loss.method_id)
            when part.bucket in ('startup', 'startup_excess') and fact.has_log
                then 'startup_first_step'
            when part.bucket = 'startup' then 'startup_first_work'
            when part.bucket in ('compute', 'busy_unsplit', 'gap_unknown')
                then 'in_step_engine_share'
            else part.bucket
        end as method_id
    from part
    inner join int_bundle as bundle
        on part.bundle_id = bundle.bundle_id
    inner join waste_rule as rule
        on part.bucket = rule.bucket
    left join int_hold as hold
        on part.hold_id = hold.hold_id
    left join int_hold_fact as fact
        on part.hold_id = fact.hold_id
    left join int_interruption as loss
        on hold.cluster = loss.cluster
        and hold.job_id = loss.job_id
        and hold.attempt = loss.attempt
    left join int_idle_run as idle
        on part.idle_id = idle.idle_id
    left join int_tag_team as tag
        on bundle.bill_team = tag.bill_team
        and bundle.month = tag.month
    left join lost_more
        on part.bucket = 'lost_work'
        and part.bundle_id = lost_more.bundle_id
        and part.gpu_uuid = lost_more.gpu_uuid
        and part.hour_id = lost_more.hour_id
        and part.hold_id = lost_more.hold_id
),

summed as (
    select
        bundle_id,
        resource_id,
        gpu_uuid,
        hour_id,
        bucket,
        waste_class,
        sub,
        cause,
        cause_ref,
        payer_team,
        cluster,
        job_id,
        attempt,
        hold_id,
        cast(sum(gpu_ns) as bigint) as gpu_ns,
        max(more_ns) as more_ns,
        evidence_grade,
        method_id
    from described
    group by all
),

placed as (
    select
        bundle_id,
        cast(sum(gpu_ns) as bigint) as placed_ns
    from summed
    group by bundle_id
),

every as (
    select
        bundle_id,
        resource_id,
        gpu_uuid,
        hour_id,
        bucket,
        waste_class,
        sub,
        cause,
        cause_ref,
        payer_team,
        cluster,
        job_id,
        attempt,
        hold_id,
        gpu_ns,
        gpu_ns as low_gpu_ns,
        gpu_ns + more_ns as high_gpu_ns,
        evidence_grade,
        method_id
    from summed
    union all
    select
        bundle.bundle_id,
        bundle.resource_id,
        cast(null as varchar) as gpu_uuid,
        cast(null as bigint) as hour_id,
        'billed_not_seen' as bucket,
        'unknown' as waste_class,
        cast(null as varchar) as sub,
        'unknown' as cause,
        cast(null as varchar) as cause_ref,
        coalesce(tag.team, 'unmapped') as payer_team,
        cast(null as varchar) as cluster,
        cast(null as varchar) as job_id,
        cast(null as bigint) as attempt,
        0 as hold_id,
        bundle.billed_gpu_ns - coalesce(placed.placed_ns, 0) as gpu_ns,
        bundle.billed_gpu_ns - coalesce(placed.placed_ns, 0) as low_gpu_ns,
        bundle.billed_gpu_ns - coalesce(placed.placed_ns, 0) as high_gpu_ns,
        'E0' as evidence_grade,
        'billed_not_seen' as method_id
    from int_bundle as bundle
    left join placed
        on bundle.bundle_id = placed.bundle_id
    left join int_tag_team as tag
        on bundle.bill_team = tag.bill_team
        and bundle.month = tag.month
    where bundle.billed_gpu_ns <> coalesce(placed.placed_ns, 0)
)

select
    bundle_id,
    cast(
        row_number() over (
            partition by bundle_id
            order by
                hour_id nulls last, gpu_uuid, bucket, waste_class, sub, cause, cause_ref,
                payer_team, cluster, job_id, attempt, method_id
        ) as bigint
    ) as row_no,
    resource_id,
    gpu_uuid,
    hour_id,
    bucket,
    waste_class,
    sub,
    cause,
    cause_ref,
    payer_team,
    cluster,
    job_id,
    attempt,
    cast(hold_id as bigint) as hold_id,
    gpu_ns,
    low_gpu_ns,
    high_gpu_ns,
    evidence_grade,
    method_id
from every
