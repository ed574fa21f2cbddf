/*
purpose: what stands behind each number of waste_team_month: the rule, and the rows and files of
    each source that the rule rests on.
    Rows are bill lines, attempts, inventory intervals, node events, samples, steps or checkpoint
    records of the GPUs and hours in the bucket.
grain: one row per month, team, bucket and source
keys: month, team, bucket, source
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that pays
    bucket | VARCHAR | - | bucket
    rule_id | VARCHAR | - | rule of the waste model
    rule_version | BIGINT | - | version of the rule
    proof | VARCHAR | - | the rule in words
    source | VARCHAR | - | bill, scheduler, inventory, node_event, telemetry, steps or checkpoints
    source_rows | BIGINT | rows | rows of the source
    source_files | VARCHAR[] | - | its files
*/
with place as (
    select distinct
        allocation.month,
        allocation.payer_team as team,
        allocation.bucket,
        allocation.gpu_uuid,
        state.hour_id,
        state.hold_id,
        allocation.cluster,
        allocation.job_id,
        allocation.attempt
    from allocation
    inner join int_state as state
        on allocation.bundle_id = state.bundle_id
        and allocation.row_no = state.row_no
),

found as (
    select
        allocation.month,
        allocation.payer_team as team,
        allocation.bucket,
        'bill' as source,
        allocation.line_id as item,
        line.source_file,
        1 as row_count
    from allocation
    inner join stg_bill_line as line
        on allocation.line_id = line.line_id
    union all
    select
        place.month,
        place.team,
        place.bucket,
        'scheduler' as source,
        concat(place.cluster, '/', place.job_id, '/', cast(place.attempt as varchar)) as item,
        job.source_file,
        1 as row_count
    from place
    inner join int_attempt as job
        on place.cluster = job.cluster
        and place.job_id = job.job_id
        and place.attempt = job.attempt
    union all
    select
        place.month,
        place.team,
        place.bucket,
        'scheduler' as source,
        concat(read.source_file, ':', cast(read.start_ns as varchar)) as item,
        read.source_file,
        1 as row_count
    from place
    inner join stg_source_coverage as read
        on place.bucket = 'unallocated'
        and read.source = 'scheduler'
        and not read.is_cut
        and read.start_ns < (place.hour_id + 1) * 3600000000000
        and read.end_ns > place.hour_id * 3600000000000
    union all
    select
        place.month,
        place.team,
        place.bucket,
        'inventory' as source,
        concat(gpu.gpu_uuid, ':', cast(gpu.start_ns as varchar)) as item,
        gpu.source_file,
        1 as row_count
    from place
    inner join stg_gpu_inventory as gpu
        on place.gpu_uuid = gpu.gpu_uuid
        and gpu.start_ns < (place.hour_id + 1) * 3600000000000
        and gpu.end_ns > place.hour_id * 3600000000000
    union all
    select
        place.month,
        place.team,
        place.bucket,
        'node_event' as source,
        concat(event.node, ':', cast(event.start_ns as varchar), event.kind) as item,
        event.source_file,
        1 as row_count
    from place
    inner join int_bundle_gpu as gpu
        on place.gpu_uuid = gpu.gpu_uuid
    inner join stg_node_event as event
        on place.bucket = 'unusable'
        and gpu.cluster = event.cluster
        and gpu.node = event.node
        and (event.gpu_uuid is null or event.gpu_uuid = place.gpu_uuid)
        and event.start_ns < (place.hour_id + 1) * 3600000000000
        and event.end_ns > place.hour_id * 3600000000000
    union all
    select
        place.month,
        place.team,
        place.bucket,
        spoke.source,
        concat(cast(spoke.hold_id as varchar), ':', cast(spoke.hour_id as varchar)) as item,
        spoke.source_file,
        spoke.row_count
    from place
    inner join int_hold_source as spoke
        on place.hold_id = spoke.hold_id
        and place.hour_id = spoke.hour_id
),

single as (
    select
        found.month,
        found.team,
        found.bucket,
        found.source,
        found.item,
        found.source_file,
        max(found.row_count) as row_count
    from found
    inner join rule_source
        on found.bucket = rule_source.bucket
        and found.source = rule_source.source
    group by
        found.month,
        found.team,
        found.bucket,
        found.source,
        found.item,
        found.source_file
),

per_file as (
    select
        month,
        team,
        bucket,
        source,
        source_file,
        cast(sum(row_count) as bigint) as row_count
    from single
    group by
        month,
        team,
        bucket,
        source,
        source_file
)

select
    per_file.month,
    per_file.team,
    per_file.bucket,
    rule.rule_id,
    rule.rule_version,
    rule.proof,
    per_file.source,
    cast(sum(per_file.row_count) as bigint) as source_rows,
    list_sort(array_agg(per_file.source_file) filter (where per_file.source_file is not null))
        as source_files
from per_file
inner join waste_rule as rule
    on per_file.bucket = rule.bucket
group by
    per_file.month,
    per_file.team,
    per_file.bucket,
    rule.rule_id,
    rule.rule_version,
    rule.proof,
    per_file.source
