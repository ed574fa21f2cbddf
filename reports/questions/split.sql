-- What each team's compute time was for, by the roofline of the traced ops.
select
    job.team,
    split.part,
    cast(sum(split.gpu_ns) as decimal(38, 0)) as gpu_ns,
    cast(sum(split.billed_usd) as decimal(38, 12)) as billed_usd
from compute_split as split
left join job_cost as job
    on job.month = $month
    and split.cluster = job.cluster
    and split.job_id = job.job_id
    and split.attempt = job.attempt
where split.month = $month
group by
    job.team,
    split.part
order by
    team,
    gpu_ns desc,
    part
