-- What each attempt of a job cost, the dearest first.
select
    team,
    cluster,
    job_id,
    attempt,
    job_name,
    user_name,
    state,
    gpu_count,
    gpu_ns,
    billed_usd,
    effective_usd,
    energy_kwh,
    mfu_ratio
from job_cost
where month = $month
order by
    effective_usd desc,
    gpu_ns desc,
    cluster,
    job_id,
    attempt
