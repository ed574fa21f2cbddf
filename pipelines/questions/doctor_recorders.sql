-- Dumps of collectives that no attempt of a job can be told from.
with file as (
    select
        source_file,
        max(job_id) as job_id,
        max(rank) as rank,
        count(*) as collectives
    from collective
    group by source_file
),

job as (
    select distinct job_id
    from job_attempt
)

select
    file.source_file as subject,
    concat(
        case
            when file.job_id is null then 'names no job'
            when job.job_id is null
                then concat('names job ', file.job_id, ', which the scheduler does not know')
            else 'names no rank'
        end,
        ', ', cast(file.collectives as varchar), ' collectives'
    ) as detail
from file
left join job
    on file.job_id = job.job_id
where job.job_id is null or file.rank is null
order by file.source_file
