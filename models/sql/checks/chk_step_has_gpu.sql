/*
purpose: every rank of a step log is a GPU of its attempt; steps of another rank say nothing
level: warning
columns:
    job_id | VARCHAR | - | job
    rank | BIGINT | - | rank of the log that no GPU of the job has
    step_count | BIGINT | steps | its steps
*/
with ranked as (
    select
        job_id,
        max(rank_count) as rank_count
    from int_hold
    group by job_id
)

select
    step.job_id,
    step.rank,
    count(*) as step_count
from stg_train_step as step
inner join ranked
    on step.job_id = ranked.job_id
where step.rank >= ranked.rank_count
group by
    step.job_id,
    step.rank
