/*
purpose: the bucket of each paid instant of each GPU: first match wins, in the order of the seed
    waste_rule. Inside steps the bucket is still in_step; int_in_step_split divides it.
    A drain proves unusable time only where the scheduler was read: else a job may have held it.
grain: one row per GPU and paid piece
keys: gpu_uuid, start_ns
columns:
    gpu_uuid | VARCHAR | - | GPU
    bundle_id | BIGINT | - | bundle
    hour_id | BIGINT | h | hours since the epoch
    hold_id | BIGINT | - | hold, 0 where none
    idle_id | BIGINT | - | idle run where the bucket is idle_held, else 0
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    bucket | VARCHAR | - | level-1 bucket; startup beyond the allowance apart
    is_policy | BOOLEAN | - | a dated exception makes it policy
    is_lost_high | BOOLEAN | - | lost work at its high bound
    is_reserve | BOOLEAN | - | an approved reserve
    event_sub | VARCHAR | - | provider_fault, own_maintenance, boot or null
    is_after_steps | BOOLEAN | - | after the last logged step
    is_profiler | BOOLEAN | - | within two steps of a trace
*/
with paid as (
    select
        piece.*,
        placement.paid_until_ns
    from int_elementary as piece
    inner join int_placement as placement
        on piece.gpu_uuid = placement.gpu_uuid
        and piece.start_ns = placement.start_ns
    where
        placement.is_placed
        and placement.paid_until_ns > placement.start_ns
),

labelled as (
    select
        *,
        case
            when is_down or (is_soft and hold_id = 0 and is_covered) then 'unusable'
            when hold_id = 0 and is_covered then 'unallocated'
            when hold_id = 0 then 'not_observed'
            when is_lost then 'lost_work'
            when is_never_touched then 'never_touched'
            when is_excess then 'startup_excess'
            when is_startup and (has_log or is_seen) then 'startup'
            when idle_id > 0 then 'idle_held'
            when is_save then 'recovery_checkpoint'
            when is_step then 'in_step'
            when not is_seen then 'not_observed'
            when not has_log then 'in_step'
            else 'between_steps'
        end as bucket
    from paid
)

select
    gpu_uuid,
    bundle_id,
    hour_id,
    hold_id,
    case when bucket = 'idle_held' then idle_id else 0 end as idle_id,
    start_ns,
    paid_until_ns as end_ns,
    bucket,
    case
        -- A maintenance window excuses whatever it covers: were only a node's failure excused,
        -- losing the event would turn it into a job's waste. A reserve is of what nobody holds.
        when bucket = 'unallocated' then has_maintenance or has_reserve
        when bucket = 'unusable' then has_maintenance or (has_reserve and hold_id = 0)
        when bucket in ('idle_held', 'never_touched')
            then has_maintenance or is_exempt or is_disputed
        when bucket in ('lost_work', 'startup_excess') then has_maintenance or is_disputed
        else false
    end as is_policy,
    is_lost_high and bucket not in ('unusable', 'lost_work') as is_lost_high,
    has_reserve and bucket = 'unallocated' as is_reserve,
    case
        when is_provider_fault then 'provider_fault'
        when is_maintenance then 'own_maintenance'
        when is_boot then 'boot'
    end as event_sub,
    is_after_steps,
    is_profiler
from labelled
