-- The ladder of the attempts that held the most GPU-time: in the scope that is asked for, else over
-- the whole hold. Ranks follow their attempt where it has few: a straggler shows only there.
with attempt as (
    select
        cluster,
        job_id,
        attempt,
        max(case when rank is null and scope = $scope then 1 else 0 end) as has_scope,
        max(case when rank is null and scope = 'allocated' then total_ns else 0 end) as held_ns,
        count(*) filter (where rank is not null and scope = 'allocated') as ranks
    from efficiency_ladder
    where month = $month and job_id is not null
    group by cluster, job_id, attempt
),

top as (
    select *, count(*) over () as attempt_count
    from attempt
    order by held_ns desc, cluster, job_id, attempt
    limit $top
)

select
    top.attempt_count,
    ladder.cluster,
    ladder.job_id,
    ladder.attempt,
    ladder.rank,
    job.job_name,
    ladder.team,
    ladder.scope,
    ladder.gpu_util_ratio,
    ladder.engine_active_ratio,
    ladder.sm_active_ratio,
    ladder.sm_occupancy_ratio,
    ladder.tensor_active_ratio,
    ladder.dram_active_ratio,
    ladder.mfu_ratio,
    ladder.observed_ns,
    ladder.total_ns
from efficiency_ladder as ladder
inner join top
    on ladder.cluster = top.cluster
    and ladder.job_id = top.job_id
    and ladder.attempt = top.attempt
    and ladder.scope = case when top.has_scope = 1 then $scope else 'allocated' end
left join job_cost as job
    on job.month = $month
    and ladder.cluster = job.cluster
    and ladder.job_id = job.job_id
    and ladder.attempt = job.attempt
where
    ladder.month = $month
    and (ladder.rank is null or top.ranks between 2 and 8)
order by
    ladder.cluster,
    length(ladder.job_id),
    ladder.job_id,
    ladder.attempt,
    ladder.rank nulls first
