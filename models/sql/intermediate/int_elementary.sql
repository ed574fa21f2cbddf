/*
purpose: the billed time of each GPU cut at every boundary, with all that holds in each piece.
    A sweep: +id at a start, -id at an end; the running sum of a kind is the id that holds (kinds
    without overlap) or the number of intervals that hold (kinds that count).
grain: one row per GPU and elementary interval inside a bundle
keys: gpu_uuid, start_ns
columns:
    gpu_uuid | VARCHAR | - | GPU
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    bundle_id | BIGINT | - | bundle
    hour_id | BIGINT | h | hours since the epoch
    hold_id | BIGINT | - | hold, 0 where no job holds the GPU
    idle_id | BIGINT | - | idle run, 0 where none
    is_down | BOOLEAN | - | down or fatal Xid
    is_soft | BOOLEAN | - | drained, in maintenance or booting
    is_provider_fault | BOOLEAN | - | an event proves a fault of the provider
    is_maintenance | BOOLEAN | - | an event proves own maintenance
    is_boot | BOOLEAN | - | an event proves booting
    is_covered | BOOLEAN | - | the scheduler was read for it and is not blind
    is_seen | BOOLEAN | - | a valid sample speaks for it
    is_never_touched | BOOLEAN | - | of a hold that never used the GPU
    has_log | BOOLEAN | - | of a hold with steps of its own
    is_after_steps | BOOLEAN | - | after the last logged step
    is_startup | BOOLEAN | - | startup
    is_excess | BOOLEAN | - | startup beyond the allowance
    is_lost | BOOLEAN | - | lost work
    is_lost_high | BOOLEAN | - | lost work at its high bound
    is_save | BOOLEAN | - | blocking save or restore
    is_step | BOOLEAN | - | inside a step
    is_profiler | BOOLEAN | - | within two steps of a trace
    has_maintenance | BOOLEAN | - | an approved maintenance window covers it
    has_reserve | BOOLEAN | - | an approved reserve covers it
    is_exempt | BOOLEAN | - | an approved exemption from idle covers it
    is_disputed | BOOLEAN | - | a dated dispute covers it
*/
with edge as (
    select gpu_uuid, kind, start_ns as at_ns, id as step_id
    from int_interval
    union all
    select gpu_uuid, kind, end_ns as at_ns, -id as step_id
    from int_interval
),

net as (
    select
        gpu_uuid,
        at_ns,
        cast(sum(case when kind = 'bundle' then step_id else 0 end) as bigint) as bundle_id,
        cast(sum(case when kind = 'hour' then step_id else 0 end) as bigint) as hour_id,
        cast(sum(case when kind = 'hold' then step_id else 0 end) as bigint) as hold_id,
        cast(sum(case when kind = 'idle' then step_id else 0 end) as bigint) as idle_id,
        cast(sum(case when kind = 'down' then step_id else 0 end) as bigint) as down,
        cast(sum(case when kind = 'soft' then step_id else 0 end) as bigint) as soft,
        cast(sum(case when kind = 'provider_fault' then step_id else 0 end) as bigint) as fault,
        cast(sum(case when kind = 'own_maintenance' then step_id else 0 end) as bigint) as own,
        cast(sum(case when kind = 'boot' then step_id else 0 end) as bigint) as boot,
        cast(sum(case when kind = 'covered' then step_id else 0 end) as bigint) as covered,
        cast(sum(case when kind = 'blind' then step_id else 0 end) as bigint) as blind,
        cast(sum(case when kind = 'seen' then step_id else 0 end) as bigint) as seen,
        cast(sum(case when kind = 'never' then step_id else 0 end) as bigint) as never,
        cast(sum(case when kind = 'log' then step_id else 0 end) as bigint) as logged,
        cast(sum(case when kind = 'ended' then step_id else 0 end) as bigint) as ended,
        cast(sum(case when kind = 'startup' then step_id else 0 end) as bigint) as startup,
        cast(sum(case when kind = 'excess' then step_id else 0 end) as bigint) as excess,
        cast(sum(case when kind = 'lost' then step_id else 0 end) as bigint) as lost,
        cast(sum(case when kind = 'lost_high' then step_id else 0 end) as bigint) as lost_high,
        cast(sum(case when kind = 'save' then step_id else 0 end) as bigint) as save,
        cast(sum(case when kind = 'step' then step_id else 0 end) as bigint) as step,
        cast(sum(case when kind = 'profiler' then step_id else 0 end) as bigint) as profiler,
        cast(sum(case when kind = 'maintenance' then step_id else 0 end) as bigint) as upkeep,
        cast(sum(case when kind = 'reserve' then step_id else 0 end) as bigint) as reserve,
        cast(sum(case when kind = 'exempt_idle' then step_id else 0 end) as bigint) as exempt,
        cast(sum(case when kind = 'dispute' then step_id else 0 end) as bigint) as dispute
    from edge
    group by
        gpu_uuid,
        at_ns
),

level as (
    select
        gpu_uuid,
        at_ns as start_ns,
        lead(at_ns) over (partition by gpu_uuid order by at_ns) as end_ns,
        cast(sum(bundle_id) over so_far as bigint) as bundle_id,
        cast(sum(hour_id) over so_far as bigint) as hour_id,
        cast(sum(hold_id) over so_far as bigint) as hold_id,
        cast(sum(idle_id) over so_far as bigint) as idle_id,
        cast(sum(down) over so_far as bigint) as down,
        cast(sum(soft) over so_far as bigint) as soft,
        cast(sum(fault) over so_far as bigint) as fault,
        cast(sum(own) over so_far as bigint) as own,
        cast(sum(boot) over so_far as bigint) as boot,
        cast(sum(covered) over so_far as bigint) as covered,
        cast(sum(blind) over so_far as bigint) as blind,
        cast(sum(seen) over so_far as bigint) as seen,
        cast(sum(never) over so_far as bigint) as never,
        cast(sum(logged) over so_far as bigint) as logged,
        cast(sum(ended) over so_far as bigint) as ended,
        cast(sum(startup) over so_far as bigint) as startup,
        cast(sum(excess) over so_far as bigint) as excess,
        cast(sum(lost) over so_far as bigint) as lost,
        cast(sum(lost_high) over so_far as bigint) as lost_high,
        cast(sum(save) over so_far as bigint) as save,
        cast(sum(step) over so_far as bigint) as step,
        cast(sum(profiler) over so_far as bigint) as profiler,
        cast(sum(upkeep) over so_far as bigint) as upkeep,
        cast(sum(reserve) over so_far as bigint) as reserve,
        cast(sum(exempt) over so_far as bigint) as exempt,
        cast(sum(dispute) over so_far as bigint) as dispute
    from net
    window so_far as (partition by gpu_uuid order by at_ns rows unbounded preceding)
)

select
    gpu_uuid,
    start_ns,
    end_ns,
    bundle_id,
    hour_id,
    hold_id,
    idle_id,
    down > 0 as is_down,
    soft > 0 as is_soft,
    fault > 0 as is_provider_fault,
    own > 0 as is_maintenance,
    boot > 0 as is_boot,
    covered > 0 and blind = 0 as is_covered,
    seen > 0 as is_seen,
    never > 0 as is_never_touched,
    logged > 0 as has_log,
    ended > 0 as is_after_steps,
    startup > 0 as is_startup,
    excess > 0 as is_excess,
    lost > 0 as is_lost,
    lost_high > 0 as is_lost_high,
    save > 0 as is_save,
    step > 0 as is_step,
    profiler > 0 as is_profiler,
    upkeep > 0 as has_maintenance,
    reserve > 0 as has_reserve,
    exempt > 0 as is_exempt,
    dispute > 0 as is_disputed
from level
where
    bundle_id > 0
    and end_ns > start_ns
