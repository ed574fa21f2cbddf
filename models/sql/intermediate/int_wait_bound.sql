/*
purpose: by how much the waiting in a hold's traced collectives could be less or more than it seems:
    as far as clocks of hosts are known to differ, and wholly for those whose participants are not
    all known. Moving the moment when a wait ends moves no more time than that.
grain: one row per hold with collectives in traced steps
keys: hold_id
columns:
    hold_id | BIGINT | - | hold
    less_ns | BIGINT | ns | at most so much of it is no waiting
    more_ns | BIGINT | ns | at most so much of the rest of its collectives is waiting
checks:
    not_negative | blocking | less_ns >= 0 and more_ns >= 0
*/
with traced as (
    select distinct
        trace_no,
        event_no,
        hold_id
    from int_kernel_share
    where bucket in ('comm_wait', 'comm_exposed')
)

select
    call.hold_id,
    cast(
        coalesce(
            sum(least(call.end_ns, call.last_start_ns) - least(call.end_ns, call.last_low_ns)), 0
        ) as bigint
    ) as less_ns,
    cast(
        sum(
            case
                when call.is_matched
                    then least(call.end_ns, call.last_high_ns) - least(call.end_ns, call.last_start_ns)
                else call.end_ns - call.start_ns
            end
        ) as bigint
    ) as more_ns
from traced
inner join int_collective_call as call
    on traced.trace_no = call.trace_no
    and traced.event_no = call.event_no
    and traced.hold_id = call.hold_id
group by call.hold_id
