-- The rows of gpu_hour_state that the number is the sum of, the dearest first.
select
    count(*) over () as row_count,
    resource_id,
    gpu_uuid,
    hour,
    sub,
    cause,
    cause_ref,
    cluster,
    job_id,
    attempt,
    gpu_ns,
    low_gpu_ns,
    high_gpu_ns,
    billed_usd,
    effective_usd,
    evidence_grade,
    method_id
from gpu_hour_state
where month = $month and payer_team = $team and bucket = $bucket
order by effective_usd desc, gpu_ns desc, hour, gpu_uuid, cluster, job_id, attempt, sub, cause
limit $top
