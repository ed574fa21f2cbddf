/*
purpose: each thing that stands behind a bucket: a bill line, an attempt, an inventory interval, a
    node event, or an hour of samples, steps, checkpoint records or traces, with its file and rows.
    Only the sources that the bucket's rule rests on (seed rule_source).
grain: one row per month, team, bucket, source, thing and file
keys: month, team, bucket, source, item, source_file
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that pays
    bucket | VARCHAR | - | bucket
    source | VARCHAR | - | bill, scheduler, inventory, node_event, telemetry, steps, checkpoints, traces or collectives
    item | VARCHAR | - | the thing
    source_file | VARCHAR | - | its file
    row_count | BIGINT | rows | rows of the file
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
)

select
    found.month,
    found.team,
    found.bucket,
    found.source,
    found.item,
    found.source_file,
    cast(max(found.row_count) as bigint) as row_count
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
