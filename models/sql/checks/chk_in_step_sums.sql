/*
purpose: the parts of in_step sum to the in_step time of each hold and hour
level: blocking
columns:
    hold_id | BIGINT | - | hold
    hour_id | BIGINT | h | hours since the epoch
    in_step_ns | BIGINT | ns | in_step time
    parts_ns | BIGINT | ns | sum of its parts
*/
with whole as (
    select
        hold_id,
        hour_id,
        cast(sum(end_ns - start_ns) as bigint) as in_step_ns
    from int_labelled
    where bucket = 'in_step'
    group by
        hold_id,
        hour_id
),

part as (
    select
        hold_id,
        hour_id,
        cast(sum(gpu_ns) as bigint) as parts_ns
    from int_in_step_split
    group by
        hold_id,
        hour_id
)

select
    whole.hold_id,
    whole.hour_id,
    whole.in_step_ns,
    part.parts_ns
from whole
full outer join part
    on whole.hold_id = part.hold_id
    and whole.hour_id = part.hour_id
where coalesce(whole.in_step_ns, 0) <> coalesce(part.parts_ns, 0)
