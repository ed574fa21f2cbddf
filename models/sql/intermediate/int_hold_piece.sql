/*
purpose: holds cut at every sample, logged step, paid in_step piece and hour.
    A sweep: +id at a start, -id at an end; the running sum is what holds.
grain: one row per hold and piece
keys: hold_id, start_ns
columns:
    hold_id | BIGINT | - | hold
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    hour_id | BIGINT | h | hours since the epoch
    sample_no | BIGINT | - | sample that speaks for it, 0 where none
    bundle_id | BIGINT | - | bundle whose paid in_step time it is, 0 where it is none
    is_step | BOOLEAN | - | inside a logged step
    is_window | BOOLEAN | - | between the start of the first and the end of the last logged step
*/
with sample_hour as (
    select
        gpu_uuid,
        sample_no,
        start_ns,
        end_ns,
        unnest(generate_series(start_ns // 3600000000000, (end_ns - 1) // 3600000000000))
            as hour_id
    from int_sample
),

edge as (
    select hold_id, 'hour' as kind, hour_id as id, start_ns, end_ns
    from int_hold_hour
    union all
    select
        hold.hold_id,
        'sample' as kind,
        sample.sample_no as id,
        greatest(sample.start_ns, hold.start_ns) as start_ns,
        least(sample.end_ns, hold.end_ns) as end_ns
    from int_hold_hour as hold
    inner join sample_hour as sample
        on hold.gpu_uuid = sample.gpu_uuid
        and hold.hour_id = sample.hour_id
        and sample.start_ns < hold.end_ns
        and sample.end_ns > hold.start_ns
    union all
    select hold_id, 'in_step' as kind, bundle_id as id, start_ns, end_ns
    from int_labelled
    where bucket = 'in_step'
    union all
    select hold_id, 'step' as kind, 1 as id, start_ns, end_ns
    from int_step
    union all
    select hold_id, 'window' as kind, 1 as id, first_step_ns as start_ns, last_step_ns as end_ns
    from int_hold_fact
    where has_log
),

moment as (
    select hold_id, kind, start_ns as at_ns, id as step_id
    from edge
    where start_ns < end_ns
    union all
    select hold_id, kind, end_ns as at_ns, -id as step_id
    from edge
    where start_ns < end_ns
),

net as (
    select
        hold_id,
        at_ns,
        cast(sum(case when kind = 'hour' then step_id else 0 end) as bigint) as hour_id,
        cast(sum(case when kind = 'sample' then step_id else 0 end) as bigint) as sample_no,
        cast(sum(case when kind = 'in_step' then step_id else 0 end) as bigint) as bundle_id,
        cast(sum(case when kind = 'step' then step_id else 0 end) as bigint) as step,
        cast(sum(case when kind = 'window' then step_id else 0 end) as bigint) as inside
    from moment
    group by
        hold_id,
        at_ns
),

level as (
    select
        hold_id,
        at_ns as start_ns,
        lead(at_ns) over (partition by hold_id order by at_ns) as end_ns,
        cast(sum(hour_id) over so_far as bigint) as hour_id,
        cast(sum(sample_no) over so_far as bigint) as sample_no,
        cast(sum(bundle_id) over so_far as bigint) as bundle_id,
        cast(sum(step) over so_far as bigint) > 0 as is_step,
        cast(sum(inside) over so_far as bigint) > 0 as is_window
    from net
    window so_far as (partition by hold_id order by at_ns rows unbounded preceding)
)

select
    hold_id,
    start_ns,
    end_ns,
    hour_id,
    sample_no,
    bundle_id,
    is_step,
    is_window
from level
where
    end_ns > start_ns
    and hour_id > 0
