/*
purpose: which step the attempt after a failure went on from, and how that is known.
    A restore record of the next attempt says it; else a save record at its first step k or at
    k - 1; else k itself. A record that is not known to be restored proves nothing.
grain: one row per attempt that ended early
keys: cluster, job_id, attempt
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt that ended early
    restored_step | BIGINT | - | step j of the restored checkpoint, null where nothing proves it
    method_id | VARCHAR | - | restore_record, save_record, first_step or none
    durable_ns | BIGINT | ns | when the saved step j was durable, epoch, null without a record
    has_log | BOOLEAN | - | the failed attempt logged steps
    is_cut | BOOLEAN | - | a reject in either step log
*/
with cut_log as (
    select
        failed.cluster,
        failed.job_id,
        failed.attempt
    from int_failure as failed
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
    from int_failure as failed
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
    from int_failure as failed
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
    inner join int_failure as failed
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
    from int_failure as failed
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
)

select
    known.cluster,
    known.job_id,
    known.attempt,
    known.restored_step,
    known.method_id,
    save.durable_ns,
    known.has_log,
    known.is_cut
from known
left join save
    on known.cluster = save.cluster
    and known.job_id = save.job_id
    and known.attempt = save.attempt
    and known.restored_step = save.step
