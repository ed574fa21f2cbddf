-- Billed GPU-time that nothing explains, in the month.
select
    concat(bucket, ', cause ', cause) as subject,
    concat(
        cast(cast(sum(gpu_hours) as decimal(38, 4)) as varchar), ' GPU-h, ',
        cast(cast(sum(effective_usd) as decimal(38, 2)) as varchar), ' USD'
    ) as detail
from waste_team_month
where
    month = $month
    and bucket in ('billed_not_seen', 'not_observed', 'busy_unsplit', 'step_unsplit')
group by
    bucket,
    cause
order by
    sum(effective_usd) desc,
    subject
