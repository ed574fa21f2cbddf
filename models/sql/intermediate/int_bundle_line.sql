/*
purpose: which lines are paid over which bundle: its own GPU lines, and companions of the same
    resource whose charge period overlaps it (disk, licence, cores, credits)
grain: one row per bundle and line
keys: bundle_id, line_id
columns:
    bundle_id | BIGINT | - | bundle
    line_id | VARCHAR | - | bill line
    billed_gpu_ns | BIGINT | ns | billed GPU-time of the line; 0 for a companion
*/
select
    bundle.bundle_id,
    line.line_id,
    case when line.pays_gpu then line.billed_gpu_ns else 0 end as billed_gpu_ns
from int_bundle as bundle
inner join stg_bill_line as line
    on bundle.resource_id = line.resource_id
    and line.start_ns < bundle.end_ns
    and line.end_ns > bundle.start_ns
    and not line.is_unused
    and line.charge_category in ('Usage', 'Credit', 'Adjustment')
