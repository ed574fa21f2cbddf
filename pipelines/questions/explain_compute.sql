-- What the compute time of the team's attempts was for, by the roofline of its traced ops.
with attempt as (
    select distinct
        cluster,
        job_id,
        attempt
    from gpu_hour_state
    where month = $month and payer_team = $team and bucket = 'compute'
)

select
    split.part,
    split.method_id,
    cast(sum(split.gpu_ns) as bigint) as gpu_ns,
    cast(sum(split.billed_usd) as decimal(38, 12)) as billed_usd,
    cast(sum(sum(split.gpu_ns)) over () as bigint) as compute_ns
from compute_split as split
inner join attempt
    on split.cluster = attempt.cluster
    and split.job_id = attempt.job_id
    and split.attempt = attempt.attempt
where split.month = $month
group by
    split.part,
    split.method_id
order by
    gpu_ns desc,
    split.part,
    split.method_id
