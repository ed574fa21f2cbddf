/*
purpose: billed time and cost of each hold by bucket and month, and how it was found
grain: one row per month, hold, bucket and method
keys: month, hold_id, bucket, method_id
columns:
    month | DATE | - | month
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | bucket
    method_id | VARCHAR | - | how it was found
    team | VARCHAR | - | team that holds it and pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    gpu_ns | BIGINT | ns | billed GPU-time
    low_gpu_ns | BIGINT | ns | low bound
    high_gpu_ns | BIGINT | ns | high bound
    billed_usd | DECIMAL(38,12) | USD | billed cost
*/
select
    hour_of.month,
    state.hold_id,
    state.bucket,
    state.method_id,
    state.payer_team as team,
    state.cluster,
    state.job_id,
    state.attempt,
    cast(sum(state.gpu_ns) as bigint) as gpu_ns,
    cast(sum(state.low_gpu_ns) as bigint) as low_gpu_ns,
    cast(sum(state.high_gpu_ns) as bigint) as high_gpu_ns,
    cast(coalesce(sum(paid.billed_usd), 0) as decimal(38, 12)) as billed_usd
from int_state as state
inner join run_hour as hour_of
    on state.hour_id = hour_of.hour_id
left join int_state_money as paid
    on state.bundle_id = paid.bundle_id
    and state.row_no = paid.row_no
where state.hold_id > 0
group by
    hour_of.month,
    state.hold_id,
    state.bucket,
    state.method_id,
    state.payer_team,
    state.cluster,
    state.job_id,
    state.attempt
