/*
purpose: what is known of each hold: its steps, its first work, whether it was ever touched, and
    its startup.
    Startup ends at the first step of its own log. Without one it ends at the first sustained GPU
    work, at most at the allowance. A log proves startup beyond the allowance only where no record
    of it was rejected and its first step is the first that the attempt can have made.
grain: one row per hold
keys: hold_id
columns:
    hold_id | BIGINT | - | hold
    gpu_uuid | VARCHAR | - | GPU
    start_ns | BIGINT | ns | start of the hold, epoch
    end_ns | BIGINT | ns | end of the hold, epoch, exclusive
    observed_ns | BIGINT | ns | time with a valid reading of the engine
    is_never_touched | BOOLEAN | - | a whole attempt that has ended: all observed and never active
    has_log | BOOLEAN | - | steps of its own are logged
    first_step_ns | BIGINT | ns | start of the first step, epoch
    last_step_ns | BIGINT | ns | end of the last step, epoch
    step_count | BIGINT | steps | logged steps
    startup_end_ns | BIGINT | ns | end of the startup, epoch
    excess_from_ns | BIGINT | ns | end of the allowance where startup beyond it is proven, epoch
    failed_attempt | BIGINT | - | the earlier attempt whose failure made this start necessary
    failure_cause | VARCHAR | - | cause of that failure
*/
with seen as (
    select
        run.hold_id,
        cast(sum(run.end_ns - run.start_ns) as bigint) as observed_ns,
        count(*) filter (where run.activity = 'active') as active_runs,
        min(
            case
                when
                    run.activity = 'active'
                    and run.end_ns - run.start_ns >= setting.sustained_work_ns
                    then run.start_ns
            end
        ) as first_work_ns
    from int_hold_run as run
    cross join run_setting as setting
    group by run.hold_id
),

logged as (
    select
        hold_id,
        min(step) as first_step,
        min(start_ns) as first_step_ns,
        max(end_ns) as last_step_ns,
        count(*) as step_count
    from int_step
    group by hold_id
),

cut_log as (
    select
        hold.hold_id
    from int_hold as hold
    inner join stg_source_coverage as cut
        on cut.source = 'steps'
        and cut.is_cut
        and (cut.job_id is null or hold.job_id = cut.job_id)
        and (cut.attempt is null or hold.attempt = cut.attempt)
    group by hold.hold_id
),

fact as (
    select
        hold.hold_id,
        hold.gpu_uuid,
        hold.start_ns,
        hold.end_ns,
        not job.is_running and hold.start_ns = job.start_ns and hold.end_ns = job.end_ns
            as is_whole_attempt,
        coalesce(seen.observed_ns, 0) as observed_ns,
        coalesce(seen.active_runs, 0) as active_runs,
        seen.first_work_ns,
        logged.first_step,
        logged.first_step_ns,
        logged.last_step_ns,
        coalesce(logged.step_count, 0) as step_count,
        hold.start_ns + setting.startup_allowance_ns as allowance_end_ns,
        cut_log.hold_id is not null as is_cut,
        failure.attempt as failed_attempt,
        failure.cause as failure_cause,
        case
            when hold.attempt = 0 then logged.first_step <= 1
            when failure.method_id in ('restore_record', 'save_record')
                then logged.first_step in (failure.restored_step, failure.restored_step + 1)
            else logged.first_step <= 1
        end as is_first_possible
    from int_hold as hold
    cross join run_setting as setting
    inner join int_attempt as job
        on hold.cluster = job.cluster
        and hold.job_id = job.job_id
        and hold.attempt = job.attempt
    left join seen
        on hold.hold_id = seen.hold_id
    left join logged
        on hold.hold_id = logged.hold_id
    left join cut_log
        on hold.hold_id = cut_log.hold_id
    left join int_interruption as failure
        on hold.cluster = failure.cluster
        and hold.job_id = failure.job_id
        and hold.attempt = failure.next_attempt
)

select
    hold_id,
    gpu_uuid,
    start_ns,
    end_ns,
    observed_ns,
    -- What runs still, or is known in part, may have worked where nobody looked.
    is_whole_attempt and observed_ns = end_ns - start_ns and active_runs = 0 as is_never_touched,
    step_count > 0 as has_log,
    first_step_ns,
    last_step_ns,
    step_count,
    case
        when step_count > 0 then first_step_ns
        else least(coalesce(first_work_ns, end_ns), allowance_end_ns, end_ns)
    end as startup_end_ns,
    case
        when step_count > 0 and not is_cut and is_first_possible and first_step_ns > allowance_end_ns
            then allowance_end_ns
    end as excess_from_ns,
    failed_attempt,
    failure_cause
from fact
