/*
purpose: logged steps of holds that have traces: their place among the hold's steps, their length
    without saves, restores and idle runs, and whether a trace touches them
grain: one row per hold and logged step
keys: hold_id, step, start_ns, rank
columns:
    hold_id | BIGINT | - | hold
    rank | BIGINT | - | rank as the log says
    step | BIGINT | - | number of the step
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    step_ns | BIGINT | ns | length without saves, restores and idle runs
    step_no | BIGINT | - | place among the steps of the hold, from 1
    is_traced | BOOLEAN | - | some trace of the hold was being taken
*/
with traced as (
    select distinct
        device.hold_id,
        trace.trace_no,
        trace.start_ns,
        trace.end_ns
    from int_trace as trace
    inner join int_trace_device as device
        on trace.trace_no = device.trace_no
),

touched as (
    select distinct
        step.hold_id,
        step.start_ns
    from int_step as step
    inner join traced
        on step.hold_id = traced.hold_id
        and step.start_ns < traced.end_ns
        and step.end_ns > traced.start_ns
),

blocked as (
    select
        step.hold_id,
        step.start_ns,
        step.end_ns,
        cast(
            sum(least(step.end_ns, held_up.end_ns) - greatest(step.start_ns, held_up.start_ns))
            as bigint
        ) as blocked_ns
    from (select distinct hold_id, start_ns, end_ns from int_step) as step
    inner join int_held_up as held_up
        on step.hold_id = held_up.hold_id
        and held_up.start_ns < step.end_ns
        and held_up.end_ns > step.start_ns
    group by
        step.hold_id,
        step.start_ns,
        step.end_ns
)

select
    step.hold_id,
    step.rank,
    step.step,
    step.start_ns,
    step.end_ns,
    step.end_ns - step.start_ns
    - coalesce(blocked.blocked_ns, 0) as step_ns,
    row_number() over (
        partition by step.hold_id order by step.start_ns, step.end_ns, step.step, step.rank
    ) as step_no,
    touched.start_ns is not null as is_traced
from int_step as step
inner join (select distinct hold_id from traced) as held
    on step.hold_id = held.hold_id
left join touched
    on step.hold_id = touched.hold_id
    and step.start_ns = touched.start_ns
left join blocked
    on step.hold_id = blocked.hold_id
    and step.start_ns = blocked.start_ns
    and step.end_ns = blocked.end_ns
