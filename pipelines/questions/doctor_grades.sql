-- How much of the month's billed GPU-time each grade of evidence carries.
select
    evidence_grade,
    cast(sum(gpu_ns) as bigint) as gpu_ns
from gpu_hour_state
where month = $month
group by evidence_grade
order by evidence_grade
