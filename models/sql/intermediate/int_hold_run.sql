/*
purpose: runs of samples as far as they lie inside a hold, by hour buckets
grain: one row per hold and run
keys: hold_id, run_id
columns:
    hold_id | BIGINT | - | hold
    run_id | BIGINT | - | run
    gpu_uuid | VARCHAR | - | GPU
    activity | VARCHAR | - | active, quiet or busy_link
    start_ns | BIGINT | ns | start inside the hold, epoch
    end_ns | BIGINT | ns | end inside the hold, epoch, exclusive
    min_fb_used_bytes | BIGINT | B | least frame buffer in use
*/
with run_hour_of as (
    select
        run_id,
        gpu_uuid,
        activity,
        start_ns,
        end_ns,
        min_fb_used_bytes,
        unnest(generate_series(start_ns // 3600000000000, (end_ns - 1) // 3600000000000))
            as hour_id
    from int_activity_run
)

select
    hold.hold_id,
    run.run_id,
    hold.gpu_uuid,
    run.activity,
    min(greatest(hold.start_ns, run.start_ns)) as start_ns,
    max(least(hold.end_ns, run.end_ns)) as end_ns,
    run.min_fb_used_bytes
from int_hold_hour as hold
inner join run_hour_of as run
    on hold.gpu_uuid = run.gpu_uuid
    and hold.hour_id = run.hour_id
    and run.start_ns < hold.end_ns
    and run.end_ns > hold.start_ns
group by
    hold.hold_id,
    run.run_id,
    hold.gpu_uuid,
    run.activity,
    run.min_fb_used_bytes
