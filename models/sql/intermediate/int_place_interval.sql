/*
purpose: intervals that the place of a GPU decides: the bill's time and its hours, node events, what
    the scheduler was read for, samples, and policy windows of nodes
grain: one row per GPU, kind and interval; equal rows may repeat
keys: interval_no
columns:
    interval_no | BIGINT | - | number of the interval in this model
    gpu_uuid | VARCHAR | - | GPU
    kind | VARCHAR | - | what the interval says
    id | BIGINT | - | id of the thing, or 1
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
with hour_of as (
    select
        gpu_uuid,
        unnest(generate_series(start_ns // 3600000000000, (end_ns - 1) // 3600000000000))
            as hour_id
    from int_bundle_gpu
),

event as (
    select
        gpu.gpu_uuid,
        event.is_hard,
        event.sub,
        greatest(event.start_ns, gpu.start_ns) as start_ns,
        least(event.end_ns, gpu.end_ns) as end_ns
    from stg_node_event as event
    inner join int_bundle_gpu as gpu
        on event.cluster = gpu.cluster
        and event.node = gpu.node
        and (event.gpu_uuid is null or event.gpu_uuid = gpu.gpu_uuid)
        and event.start_ns < gpu.end_ns
        and event.end_ns > gpu.start_ns
),

named as (
    select distinct
        cluster,
        unnest(nodes) as node
    from int_attempt
),

scheduler as (
    select
        gpu.gpu_uuid,
        read.is_cut,
        greatest(read.start_ns, gpu.start_ns) as start_ns,
        least(read.end_ns, gpu.end_ns) as end_ns
    from stg_source_coverage as read
    inner join int_bundle_gpu as gpu
        on read.source = 'scheduler'
        and (read.cluster is null or read.cluster = gpu.cluster)
        and (read.node is null or read.node = gpu.node)
        and read.start_ns < gpu.end_ns
        and read.end_ns > gpu.start_ns
    union all
    select
        gpu.gpu_uuid,
        true as is_cut,
        greatest(blind.start_ns, gpu.start_ns) as start_ns,
        least(blind.end_ns, gpu.end_ns) as end_ns
    from int_blind_node as blind
    inner join int_bundle_gpu as gpu
        on (blind.cluster = gpu.cluster or gpu.cluster is null)
        and (blind.node is null or blind.node = gpu.node or blind.is_elsewhere)
        and blind.start_ns < gpu.end_ns
        and blind.end_ns > gpu.start_ns
    left join named
        on gpu.cluster = named.cluster
        and gpu.node = named.node
    where
        not blind.is_elsewhere
        or named.node is null
),

policy as (
    select
        gpu.gpu_uuid,
        policy.kind,
        greatest(policy.start_ns, gpu.start_ns) as start_ns,
        least(policy.end_ns, gpu.end_ns) as end_ns
    from stg_policy_window as policy
    inner join int_bundle_gpu as gpu
        on policy.kind in ('maintenance', 'reserve')
        and (policy.cluster is null or policy.cluster = gpu.cluster)
        and (policy.node is null or policy.node = gpu.node)
        and policy.start_ns < gpu.end_ns
        and policy.end_ns > gpu.start_ns
),

gathered as (
    select gpu_uuid, 'bundle' as kind, bundle_id as id, start_ns, end_ns
    from int_bundle_gpu
    union all
    select distinct
        gpu_uuid,
        'hour' as kind,
        hour_id as id,
        hour_id * 3600000000000 as start_ns,
        (hour_id + 1) * 3600000000000 as end_ns
    from hour_of
    union all
    select
        gpu_uuid,
        case when is_hard then 'down' else 'soft' end as kind,
        1 as id,
        start_ns,
        end_ns
    from event
    union all
    select gpu_uuid, sub as kind, 1 as id, start_ns, end_ns
    from event
    where sub is not null
    union all
    select
        gpu_uuid,
        case when is_cut then 'blind' else 'covered' end as kind,
        1 as id,
        start_ns,
        end_ns
    from scheduler
    union all
    select gpu_uuid, 'seen' as kind, 1 as id, start_ns, end_ns
    from int_activity_run
    union all
    select gpu_uuid, kind, 1 as id, start_ns, end_ns
    from policy
)

select
    cast(row_number() over (order by gpu_uuid, kind, start_ns, end_ns, id) as bigint)
        as interval_no,
    gpu_uuid,
    kind,
    cast(id as bigint) as id,
    start_ns,
    end_ns
from gathered
where start_ns < end_ns
