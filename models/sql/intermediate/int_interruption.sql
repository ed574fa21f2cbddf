/*
purpose: attempts that ended early and were not cancelled, and from when on their work was lost.
    Lost work begins at the end of step j, which the next attempt restored (int_restored); where
    only its first step k is known, at the end of step k, with its start as the high bound. Without
    steps of the failed attempt: when the restored record was durable. No restart, no loss.
    A step log with rejects proves no loss.
grain: one row per attempt that ended early
keys: cluster, job_id, attempt
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt that ended early
    interrupted_ns | BIGINT | ns | its end, epoch
    cause | VARCHAR | - | platform, preemption, own_code or unknown, from the scheduler's state
    next_attempt | BIGINT | - | the next attempt that started, null where there is none
    next_start_ns | BIGINT | ns | its start, epoch
    restored_step | BIGINT | - | step j, null where nothing proves it
    lost_from_ns | BIGINT | ns | start of the lost work, null where no loss is proven
    high_from_ns | BIGINT | ns | earliest start that the records admit
    method_id | VARCHAR | - | restore_record, save_record, first_step, durable_time or none
*/
with kept as (
    select
        known.cluster,
        known.job_id,
        known.attempt,
        step.rank,
        step.gpu_uuid,
        min(step.end_ns) as kept_until_ns,
        min(case when step.step = known.restored_step then step.start_ns end) as redone_from_ns
    from int_restored as known
    inner join int_step as step
        on known.cluster = step.cluster
        and known.job_id = step.job_id
        and known.attempt = step.attempt
        and step.step >= known.restored_step
    group by
        known.cluster,
        known.job_id,
        known.attempt,
        step.rank,
        step.gpu_uuid
),

kept_by_all as (
    select
        cluster,
        job_id,
        attempt,
        max(kept_until_ns) as kept_until_ns,
        min(redone_from_ns) as redone_from_ns
    from kept
    group by
        cluster,
        job_id,
        attempt
)

select
    known.cluster,
    known.job_id,
    known.attempt,
    failed.interrupted_ns,
    failed.cause,
    failed.next_attempt,
    failed.next_start_ns,
    known.restored_step,
    case
        when failed.next_start_ns is null or known.is_cut then null
        when known.has_log then kept_by_all.kept_until_ns
        when known.method_id in ('restore_record', 'save_record') then known.durable_ns
    end as lost_from_ns,
    case
        when failed.next_start_ns is null or known.is_cut then null
        when known.has_log and known.method_id = 'first_step'
            then coalesce(kept_by_all.redone_from_ns, kept_by_all.kept_until_ns)
        when known.has_log then kept_by_all.kept_until_ns
        when known.method_id in ('restore_record', 'save_record') then known.durable_ns
    end as high_from_ns,
    case
        when failed.next_start_ns is null or known.is_cut then 'none'
        when not known.has_log and known.method_id in ('restore_record', 'save_record')
            then 'durable_time'
        else known.method_id
    end as method_id
from int_restored as known
inner join int_failure as failed
    on known.cluster = failed.cluster
    and known.job_id = failed.job_id
    and known.attempt = failed.attempt
left join kept_by_all
    on known.cluster = kept_by_all.cluster
    and known.job_id = kept_by_all.job_id
    and known.attempt = kept_by_all.attempt
