/*
purpose: quiet runs inside a hold that last at least the idle time.
    The run is measured on the attempt's raw samples, before other rows are cut out of it.
grain: one row per hold and idle run
keys: idle_id
columns:
    idle_id | BIGINT | - | number of the idle run in this run, from 1
    hold_id | BIGINT | - | hold
    gpu_uuid | VARCHAR | - | GPU
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    sub | VARCHAR | - | suspended, tail, interactive, memory_held or null
*/
select
    cast(row_number() over (order by run.gpu_uuid, run.start_ns, run.hold_id) as bigint)
        as idle_id,
    run.hold_id,
    run.gpu_uuid,
    run.start_ns,
    run.end_ns,
    case
        when hold.is_suspended then 'suspended'
        when fact.last_step_ns is not null and run.start_ns >= fact.last_step_ns then 'tail'
        when hold.is_interactive then 'interactive'
        when run.min_fb_used_bytes >= setting.memory_held_bytes then 'memory_held'
    end as sub
from int_hold_run as run
inner join int_hold as hold
    on run.hold_id = hold.hold_id
inner join int_hold_fact as fact
    on run.hold_id = fact.hold_id
cross join run_setting as setting
where
    run.activity = 'quiet'
    and run.end_ns - run.start_ns >= setting.idle_after_ns
