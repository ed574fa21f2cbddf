-- Stretches for which a job held a GPU and did nothing, the dearest first.
select
    count(*) over () as row_count,
    cluster,
    job_id,
    attempt,
    gpu_uuid,
    team,
    start,
    "end",
    sub,
    waste_class,
    gpu_ns,
    billed_usd
from idle_sessions
where month = $month
order by billed_usd desc, gpu_ns desc, start, gpu_uuid
limit $top
