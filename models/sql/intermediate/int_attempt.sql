/*
purpose: incarnations of jobs in the run's window, numbered, with the team that holds them.
    Exports that overlap repeat an incarnation: the one that knows its end wins, then the later end.
    A running attempt lasts as far as the scheduler was read.
grain: one row per cluster, job and attempt
keys: cluster, job_id, attempt
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | 0 for the first incarnation, in order of submit
    submit_ns | BIGINT | ns | submit or requeue, epoch
    start_ns | BIGINT | ns | start, epoch, null where it never started
    end_ns | BIGINT | ns | end, epoch, null where it never started
    is_running | BOOLEAN | - | no end is known yet
    state | VARCHAR | - | state
    account | VARCHAR | - | scheduler account
    team | VARCHAR | - | team of the account at the start, unmapped where no row of the map fits
    job_name | VARCHAR | - | job name
    user_name | VARCHAR | - | user
    gpu_count | BIGINT | GPUs | GPUs allocated
    nodes | VARCHAR[] | - | nodes
    is_suspended | BOOLEAN | - | it was suspended for some time while it held its GPUs
    is_interactive | BOOLEAN | - | the allocation has an interactive step
    source_file | VARCHAR | - | file that the row was taken from
checks:
    ends_after_start | blocking | start_ns is null or end_ns >= start_ns
*/
with read_until as (
    select
        cluster,
        max(end_ns) as end_ns
    from stg_source_coverage
    where source = 'scheduler' and not is_cut
    group by cluster
),

seen as (
    select
        *,
        row_number() over (
            partition by cluster, job_id, submit_ns
            order by
                case when end_ns is null then 1 else 0 end,
                end_ns desc,
                source_file,
                source_row
        ) as pick
    from stg_job_attempt
),

numbered as (
    select
        *,
        row_number() over (partition by cluster, job_id order by submit_ns) - 1 as attempt
    from seen
    where pick = 1
),

mapped as (
    select
        job.cluster,
        job.job_id,
        job.attempt,
        team_name.team,
        row_number() over (
            partition by job.cluster, job.job_id, job.attempt
            order by team_name.start_ns desc, team_name.team
        ) as pick
    from numbered as job
    inner join stg_team_map as team_name
        on job.account = team_name.key
        and team_name.kind = 'account'
        and team_name.start_ns <= coalesce(job.start_ns, job.submit_ns)
        and (team_name.end_ns is null or team_name.end_ns > coalesce(job.start_ns, job.submit_ns))
),

timed as (
    select
        job.*,
        case
            when job.start_ns is null then null
            else greatest(
                job.start_ns,
                coalesce(
                    job.end_ns, greatest(cluster_read.end_ns, any_read.end_ns), job.start_ns
                )
            )
        end as until_ns
    from numbered as job
    left join read_until as cluster_read
        on job.cluster = cluster_read.cluster
    left join read_until as any_read
        on any_read.cluster is null
)

select
    job.cluster,
    job.job_id,
    cast(job.attempt as bigint) as attempt,
    job.submit_ns,
    job.start_ns,
    job.until_ns as end_ns,
    job.start_ns is not null and job.end_ns is null as is_running,
    job.state,
    job.account,
    coalesce(mapped.team, 'unmapped') as team,
    job.job_name,
    job.user_name,
    job.gpu_count,
    job.nodes,
    job.suspended_us > 0 as is_suspended,
    job.is_interactive,
    job.source_file
from timed as job
cross join run_setting as setting
left join mapped
    on job.cluster = mapped.cluster
    and job.job_id = mapped.job_id
    and job.attempt = mapped.attempt
    and mapped.pick = 1
where
    job.start_ns is null
    or (job.start_ns < setting.window_end_ns and job.until_ns >= setting.window_start_ns)
