/*
purpose: a job that logs steps is one that the scheduler shows at that time, once the scheduler is
    read at all. Else the log's cluster or job id is written otherwise, or the scheduler's times are
    in another zone: its steps prove nothing. The scheduler has whole seconds, so two are forgiven
level: warning
columns:
    cluster | VARCHAR | - | cluster of the log's source
    job_id | VARCHAR | - | job of the log
    step_count | BIGINT | steps | steps outside every attempt of it
*/
select
    step.cluster,
    step.job_id,
    count(*) as step_count
from stg_train_step as step
left join int_attempt as job
    on step.job_id = job.job_id
    and (step.cluster is null or step.cluster = job.cluster)
    and step.start_ns < job.end_ns + 2000000000
    and step.end_ns > job.start_ns - 2000000000
where
    job.job_id is null
    and exists (select 1 as one from int_attempt)
group by
    step.cluster,
    step.job_id
