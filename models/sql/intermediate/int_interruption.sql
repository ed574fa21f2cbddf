/*
purpose: attempts that ended early and were not cancelled, and from when on their work was lost.
    Lost work begins at the end of step j of the checkpoint that the next attempt restored. j is
    what a restore record says; else the step of a save record at k or k - 1, k being the next
    attempt's first step; else k, with the start of step k as the high bound. Without steps of the
    failed attempt: the time at which the restored record was durable. No restart, no loss.
    A step log with rejects proves no loss.
grain: one row per attempt that ended early
keys: cluster, job_id, attempt
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt that ended early
    interrupted_ns | BIGINT | ns | its end, epoch
    cause | VARCHAR | - | platform, preemption, own_code or unknown, from the scheduler's state
    next_start_ns | BIGINT | ns | start of the next attempt, null where there is none
    restored_step | BIGINT | - | step j, null where nothing proves it
    lost_from_ns | BIGINT | ns | start of the lost work, null where no loss is proven
    high_from_ns | BIGINT | ns | earliest start that the records admit
    method_id | VARCHAR | - | restore_record, save_record, first_step, durable_time or none
*/
with failed as (
    select
        job.cluster,
        job.job_id,
        job.attempt,
        job.end_ns as interrupted_ns,
        case
            when job.state in ('NODE_FAIL', 'BOOT_FAIL') then 'platform'
            when job.state = 'PREEMPTED' then 'preemption'
            when job.state in ('TIMEOUT', 'OUT_OF_MEMORY', 'DEADLINE') then 'own_code'
            else 'unknown'
        end as cause,
        later.attempt as next_attempt,
        later.start_ns as next_start_ns
    from int_attempt as job
    left join int_attempt as later
        on job.cluster = later.cluster
        and job.job_id = later.job_id
        and job.attempt + 1 = later.attempt
        and later.start_ns is not null
    where
        job.end_ns is not null
        and not job.is_running
        and job.state in (
            'FAILED', 'NODE_FAIL', 'BOOT_FAIL', 'PREEMPTED', 'REQUEUED', 'TIMEOUT',
            'OUT_OF_MEMORY', 'DEADLINE'
        )
),

cut_log as (
    select
        failed.cluster,
        failed.job_id,
        failed.attempt
    from failed
    inner join stg_source_coverage as cut
        on cut.source = 'steps'
        and cut.is_cut
        and (cut.job_id is null or failed.job_id = cut.job_id)
        and (cut.attempt is null or cut.attempt in (failed.attempt, failed.next_attempt))
    group by
        failed.cluster,
        failed.job_id,
        failed.attempt
),

first_step as (
    select
        cluster,
        job_id,
        attempt,
        min(step) as first_step
    from int_step
    group by
        cluster,
        job_id,
        attempt
),

restore as (
    select
        failed.cluster,
        failed.job_id,
        failed.attempt,
        max(restored.step) as restored_step
    from failed
    inner join stg_checkpoint as restored
        on failed.job_id = restored.job_id
        and (restored.cluster is null or failed.cluster = restored.cluster)
        and failed.next_attempt = restored.attempt
        and restored.event = 'restore'
        -- Where an earlier attempt is missing, numbers shift: the record must lie in the next one.
        and restored.start_ns >= failed.next_start_ns
    group by
        failed.cluster,
        failed.job_id,
        failed.attempt
),

save as (
    select
        failed.cluster,
        failed.job_id,
        failed.attempt,
        saved.step,
        max(saved.end_ns) as durable_ns
    from failed
    inner join stg_checkpoint as saved
        on failed.job_id = saved.job_id
        and (saved.cluster is null or failed.cluster = saved.cluster)
        and saved.attempt <= failed.attempt
        and saved.event = 'save'
        and saved.end_ns <= failed.interrupted_ns
    group by
        failed.cluster,
        failed.job_id,
        failed.attempt,
        saved.step
),

save_near as (
    select
        save.cluster,
        save.job_id,
        save.attempt,
        max(save.step) as restored_step
    from save
    inner join failed
        on save.cluster = failed.cluster
        and save.job_id = failed.job_id
        and save.attempt = failed.attempt
    inner join first_step
        on failed.cluster = first_step.cluster
        and failed.job_id = first_step.job_id
        and failed.next_attempt = first_step.attempt
        and save.step in (first_step.first_step, first_step.first_step - 1)
    group by
        save.cluster,
        save.job_id,
        save.attempt
),

known as (
    select
        failed.*,
        coalesce(
            restore.restored_step,
            save_near.restored_step,
            first_step.first_step
        ) as restored_step,
        case
            when restore.restored_step is not null then 'restore_record'
            when save_near.restored_step is not null then 'save_record'
            when first_step.first_step is not null then 'first_step'
            else 'none'
        end as method_id,
        own_log.attempt is not null as has_log,
        cut_log.attempt is not null as is_cut
    from failed
    left join restore
        on failed.cluster = restore.cluster
        and failed.job_id = restore.job_id
        and failed.attempt = restore.attempt
    left join save_near
        on failed.cluster = save_near.cluster
        and failed.job_id = save_near.job_id
        and failed.attempt = save_near.attempt
    left join first_step
        on failed.cluster = first_step.cluster
        and failed.job_id = first_step.job_id
        and failed.next_attempt = first_step.attempt
    left join first_step as own_log
        on failed.cluster = own_log.cluster
        and failed.job_id = own_log.job_id
        and failed.attempt = own_log.attempt
    left join cut_log
        on failed.cluster = cut_log.cluster
        and failed.job_id = cut_log.job_id
        and failed.attempt = cut_log.attempt
),

kept as (
    select
        known.cluster,
        known.job_id,
        known.attempt,
        step.rank,
        step.gpu_uuid,
        min(step.end_ns) as kept_until_ns,
        min(case when step.step = known.restored_step then step.start_ns end) as redone_from_ns
    from known
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
    known.interrupted_ns,
    known.cause,
    known.next_start_ns,
    known.restored_step,
    case
        when known.next_start_ns is null or known.is_cut then null
        when known.has_log then kept_by_all.kept_until_ns
        when known.method_id in ('restore_record', 'save_record') then save.durable_ns
    end as lost_from_ns,
    case
        when known.next_start_ns is null or known.is_cut then null
        when known.has_log and known.method_id = 'first_step'
            then coalesce(kept_by_all.redone_from_ns, kept_by_all.kept_until_ns)
        when known.has_log then kept_by_all.kept_until_ns
        when known.method_id in ('restore_record', 'save_record') then save.durable_ns
    end as high_from_ns,
    case
        when known.next_start_ns is null or known.is_cut then 'none'
        when not known.has_log and known.method_id in ('restore_record', 'save_record')
            then 'durable_time'
        else known.method_id
    end as method_id
from known
left join kept_by_all
    on known.cluster = kept_by_all.cluster
    and known.job_id = kept_by_all.job_id
    and known.attempt = kept_by_all.attempt
left join save
    on known.cluster = save.cluster
    and known.job_id = save.job_id
    and known.attempt = save.attempt
    and known.restored_step = save.step
