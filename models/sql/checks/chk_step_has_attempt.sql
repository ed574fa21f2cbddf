/*
purpose: a job that logs steps is one that the scheduler shows at that time, where the scheduler was
    read. Else the log's cluster or job id is written otherwise, or the scheduler's times are in
    another zone: its steps prove nothing. The scheduler has whole seconds, so two are forgiven
level: warning
columns:
    cluster | VARCHAR | - | cluster of the log's source
    job_id | VARCHAR | - | job of the log
    step_count | BIGINT | steps | steps outside every attempt of it
*/
with alone as (
    select
        step.cluster,
        step.job_id,
        step.start_ns // 60000000000 as minute_id,
        count(*) as step_count
    from stg_train_step as step
    inner join run_setting as asked
        on step.start_ns >= asked.window_start_ns
        and step.start_ns < asked.window_end_ns
    left join int_attempt as job
        on step.job_id = job.job_id
        and (step.cluster is null or step.cluster = job.cluster)
        and step.start_ns < job.end_ns + 2000000000
        and step.end_ns > job.start_ns - 2000000000
    where job.job_id is null
    group by
        step.cluster,
        step.job_id,
        step.start_ns // 60000000000
)

select
    alone.cluster,
    alone.job_id,
    cast(sum(alone.step_count) as bigint) as step_count
from alone
where
    exists (
        select 1 as one
        from stg_source_coverage as covered
        where
            covered.source = 'scheduler'
            and not covered.is_cut
            and covered.start_ns <= alone.minute_id * 60000000000
            and covered.end_ns >= (alone.minute_id + 1) * 60000000000
    )
group by
    alone.cluster,
    alone.job_id
