/*
purpose: the class, kind, cause, payer, grade and method of each part of the billed time.
    Cause and payer are two things: the holder pays, whoever the cause is.
grain: one row per row of int_part
keys: bundle_id, gpu_uuid, hour_id, hold_id, bucket, waste_class, sub, idle_id, cause_ref
columns:
    bundle_id | BIGINT | - | bundle
    resource_id | VARCHAR | - | resource
    gpu_uuid | VARCHAR | - | GPU
    hour_id | BIGINT | h | hours since the epoch
    bucket | VARCHAR | - | bucket
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    sub | VARCHAR | - | kind within the bucket
    cause | VARCHAR | - | whose doing it is
    cause_ref | VARCHAR | - | the failed attempt, or the rank and GPU, that is the cause
    payer_team | VARCHAR | - | team that holds it and pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    hold_id | BIGINT | - | hold, 0 where none
    idle_id | BIGINT | - | idle run, 0 where none
    cause_hold_id | BIGINT | - | hold of the rank that is waited for, 0 where none
    gpu_ns | BIGINT | ns | time
    less_ns | BIGINT | ns | time by which the low bound lies below
    more_ns | BIGINT | ns | time by which the high bound lies above
    evidence_grade | VARCHAR | - | E0 bill, E1 + scheduler, E2 + counters, E3 + sampled traces, E4 every step traced
    method_id | VARCHAR | - | how the row was found
*/
with lost_more as (
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
)

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
        when part.is_profiler then 'profiler'
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
        when part.cause_hold_id > 0 then 'straggler'
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
        when part.cause_hold_id > 0
            then concat(
                'rank ', cast(late.rank as varchar), ' ', late.gpu_uuid, ' ', late.node
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
    part.idle_id,
    part.cause_hold_id,
    part.gpu_ns,
    part.less_ns,
    case
        when part.bucket = 'lost_work' then coalesce(lost_more.more_ns, 0)
        else part.more_ns
    end as more_ns,
    case
        when part.evidence_grade is not null then part.evidence_grade
        when part.bucket in ('unusable', 'unallocated', 'lost_work', 'startup_excess') then 'E1'
        when part.bucket = 'recovery_checkpoint' then 'E1'
        when part.bucket = 'startup' and fact.has_log then 'E1'
        when part.bucket = 'not_observed' and part.hold_id = 0 then 'E0'
        when part.bucket = 'not_observed' then 'E1'
        else 'E2'
    end as evidence_grade,
    case
        when part.method_id is not null then part.method_id
        when part.bucket = 'lost_work' then concat('lost_work_', loss.method_id)
        when part.bucket in ('startup', 'startup_excess') and fact.has_log
            then 'startup_first_step'
        when part.bucket = 'startup' then 'startup_first_work'
        else part.bucket
    end as method_id
from int_part as part
inner join int_bundle as bundle
    on part.bundle_id = bundle.bundle_id
inner join waste_rule as rule
    on part.bucket = rule.bucket
left join int_hold as hold
    on part.hold_id = hold.hold_id
left join int_hold as late
    on part.cause_hold_id = late.hold_id
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
