/*
purpose: the fact table: each bill line on the rows that it pays, exact on each money basis.
    billed_not_seen has no GPU and no hour; commitment_unused and non_gpu have no hour.
grain: one row per bill line and target
keys: line_id, target_no
columns:
    month | DATE | - | month of the hour, else of the charge period's start
    line_id | VARCHAR | - | bill line
    target_no | BIGINT | - | number of the target within the line
    resource_id | VARCHAR | - | resource
    gpu_uuid | VARCHAR | - | GPU, null where nothing shows one
    slice_id | VARCHAR | - | MIG slice, null is the whole GPU
    hour | TIMESTAMP WITH TIME ZONE | UTC | hour, null where nothing places it in time
    bucket | VARCHAR | - | bucket; see docs/glossary.md
    level1 | VARCHAR | - | level-1 row of the waste model: in_step for its parts
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    sub | VARCHAR | - | kind within the bucket
    cause | VARCHAR | - | whose doing it is
    payer_team | VARCHAR | - | team that holds it and pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    gpu_ns | BIGINT | ns | billed GPU-time
    billed_usd | DECIMAL(38,12) | USD | billed cost
    effective_usd | DECIMAL(38,12) | USD | effective cost
    list_usd | DECIMAL(38,12) | USD | list cost, null where the bill gives none
    evidence_grade | VARCHAR | - | E0 bill, E1 + scheduler, E2 + counters, E3 + sampled traces, E4 every step traced
    method_id | VARCHAR | - | how the row was found
    bundle_id | BIGINT | - | bundle of this run
    row_no | BIGINT | - | row within the bundle
checks:
    time_not_negative | blocking | gpu_ns >= 0
order: line_id, target_no
*/
select
    coalesce(hour_of.month, line.month) as month,
    target.line_id,
    target.target_no,
    coalesce(state.resource_id, line.resource_id) as resource_id,
    state.gpu_uuid,
    cast(null as varchar) as slice_id,
    hour_of.hour,
    coalesce(state.bucket, target.bucket) as bucket,
    rule.level1,
    coalesce(state.waste_class, rule.waste_class) as waste_class,
    state.sub,
    coalesce(
        state.cause,
        case when target.bucket = 'billed_not_seen' then 'unknown' else 'platform' end
    ) as cause,
    coalesce(state.payer_team, target.payer_team) as payer_team,
    state.cluster,
    state.job_id,
    state.attempt,
    target.gpu_ns,
    money.billed_usd,
    money.effective_usd,
    money.list_usd,
    coalesce(state.evidence_grade, 'E0') as evidence_grade,
    coalesce(state.method_id, target.method_id) as method_id,
    target.bundle_id,
    target.row_no
from int_charge_target as target
inner join stg_bill_line as line
    on target.line_id = line.line_id
inner join int_charge_money as money
    on target.line_id = money.line_id
    and target.target_no = money.target_no
left join int_state as state
    on target.bundle_id = state.bundle_id
    and target.row_no = state.row_no
inner join waste_rule as rule
    on coalesce(state.bucket, target.bucket) = rule.bucket
left join run_hour as hour_of
    on state.hour_id = hour_of.hour_id
