-- Attempts that ended early, the dearest first.
select
    team,
    cluster,
    job_id,
    attempt,
    interrupted_at,
    state,
    cause,
    restored_step,
    lost_gpu_ns,
    lost_high_gpu_ns,
    lost_usd,
    restart_gpu_ns,
    method_id
from interruptions
where month = $month
order by
    lost_usd desc,
    lost_high_gpu_ns desc,
    interrupted_at,
    cluster,
    job_id,
    attempt
