-- The ladder of each attempt inside its logged steps, or over the whole hold where no step is known;
-- the longest hold first. Ranks follow their attempt where it has few: a straggler shows only there.
with attempt as (
    select
        cluster,
        job_id,
        attempt,
        max(case when rank is null and scope = 'in_steps' then 1 else 0 end) as has_steps,
        max(case when rank is null and scope = 'allocated' then total_ns else 0 end) as held_ns,
        count(*) filter (where rank is not null and scope = 'allocated') as ranks
    from efficiency_ladder
    where month = $month and job_id is not null
    group by
        cluster,
        job_id,
        attempt
)

select
    ladder.team,
    ladder.cluster,
    ladder.job_id,
    ladder.attempt,
    ladder.rank,
    job.job_name,
    ladder.scope,
    ladder.gpu_util_ratio,
    ladder.engine_active_ratio,
    ladder.sm_active_ratio,
    ladder.sm_occupancy_ratio,
    ladder.tensor_active_ratio,
    ladder.dram_active_ratio,
    ladder.mfu_ratio,
    ladder.observed_ns,
    ladder.total_ns,
    attempt.held_ns
from efficiency_ladder as ladder
inner join attempt
    on ladder.cluster = attempt.cluster
    and ladder.job_id = attempt.job_id
    and ladder.attempt = attempt.attempt
    and ladder.scope = case when attempt.has_steps = 1 then 'in_steps' else 'allocated' end
left join job_cost as job
    on job.month = $month
    and ladder.cluster = job.cluster
    and ladder.job_id = job.job_id
    and ladder.attempt = job.attempt
where
    ladder.month = $month
    and (ladder.rank is null or attempt.ranks between 2 and 8)
order by
    held_ns desc,
    cluster,
    job_id,
    attempt,
    rank nulls first
