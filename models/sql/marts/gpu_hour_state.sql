/*
purpose: what each billed GPU did in each hour and what that cost: the group-by of allocation
grain: one row per resource, GPU, hour, bucket, sub, class, cause, payer and job attempt
keys: month, resource_id, gpu_uuid, slice_id, hour, bucket, sub, waste_class, cause, cause_ref, payer_team, cluster, job_id, attempt, method_id
columns:
    month | DATE | - | month of the hour, else of the charge period's start
    resource_id | VARCHAR | - | resource
    gpu_uuid | VARCHAR | - | GPU, null where nothing shows one
    slice_id | VARCHAR | - | MIG slice, null is the whole GPU
    hour | TIMESTAMP WITH TIME ZONE | UTC | hour, null where nothing places it in time
    bucket | VARCHAR | - | bucket
    level1 | VARCHAR | - | level-1 row of the waste model
    sub | VARCHAR | - | kind within the bucket
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    cause | VARCHAR | - | whose doing it is
    cause_ref | VARCHAR | - | the failed attempt, or the rank and GPU, that is the cause
    payer_team | VARCHAR | - | team that holds it and pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    gpu_ns | BIGINT | ns | billed GPU-time
    low_gpu_ns | BIGINT | ns | low bound of this row alone
    high_gpu_ns | BIGINT | ns | high bound of this row alone
    billed_usd | DECIMAL(38,12) | USD | billed cost
    effective_usd | DECIMAL(38,12) | USD | effective cost
    list_usd | DECIMAL(38,12) | USD | list cost of the lines that give one
    list_unknown_lines | BIGINT | lines | bill lines of the row without a list cost
    evidence_grade | VARCHAR | - | E0 bill, E1 + scheduler, E2 + counters, E3 + sampled traces, E4 every step traced
    method_id | VARCHAR | - | how the row was found
checks:
    time_not_negative | blocking | gpu_ns >= 0
*/
with first_line as (
    select
        bundle_id,
        row_no,
        min(line_id) as line_id
    from allocation
    where bundle_id is not null
    group by
        bundle_id,
        row_no
),

-- Bounds belong to the row, not to each line that pays it: they count with its first line only.
bounded as (
    select
        allocation.*,
        state.cause_ref,
        case when first_line.line_id is null then 0 else state.gpu_ns - state.low_gpu_ns end
            as below_ns,
        case when first_line.line_id is null then 0 else state.high_gpu_ns - state.gpu_ns end
            as above_ns
    from allocation
    left join int_state as state
        on allocation.bundle_id = state.bundle_id
        and allocation.row_no = state.row_no
    left join first_line
        on allocation.bundle_id = first_line.bundle_id
        and allocation.row_no = first_line.row_no
        and allocation.line_id = first_line.line_id
)

select
    month,
    resource_id,
    gpu_uuid,
    slice_id,
    hour,
    bucket,
    level1,
    sub,
    waste_class,
    cause,
    cause_ref,
    payer_team,
    cluster,
    job_id,
    attempt,
    cast(sum(gpu_ns) as bigint) as gpu_ns,
    cast(sum(gpu_ns - below_ns) as bigint) as low_gpu_ns,
    cast(sum(gpu_ns + above_ns) as bigint) as high_gpu_ns,
    cast(sum(billed_usd) as decimal(38, 12)) as billed_usd,
    cast(sum(effective_usd) as decimal(38, 12)) as effective_usd,
    cast(sum(list_usd) as decimal(38, 12)) as list_usd,
    count(*) filter (where list_usd is null) as list_unknown_lines,
    min(evidence_grade) as evidence_grade,
    method_id
from bounded
group by all
