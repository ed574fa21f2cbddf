-- Stretches for which a job held a GPU and did nothing, the dearest first.
select
    team,
    cluster,
    job_id,
    attempt,
    gpu_uuid,
    start,
    "end",
    sub,
    waste_class,
    gpu_ns,
    billed_usd
from idle_sessions
where month = $month
order by
    billed_usd desc,
    gpu_ns desc,
    start,
    gpu_uuid
