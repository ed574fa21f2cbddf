/*
purpose: how well the traced steps of a hold speak for all its steps.
    Normal step = mean of the logged steps that no trace touches, without the first. The profiler
    slows the host, not the kernels: busy time stands as traced, and must fit into a normal step.
    Where traced steps are over 1.10 normal, or no normal step is known, the busy share must be shown
    to agree with the counters' within 5 points. A trace of which over 2 % could not be read, or that shows no work
    for over 2 % of its launches, does not fit either. One hold that does not fit flags its attempt.
    A profiler's step need not be a whole logged step: a log can count every tenth, or micro-batches
    lie in one. So each counts for as much of its logged step as it covers.
grain: one row per hold that has traced steps
keys: hold_id
columns:
    hold_id | BIGINT | - | hold
    window_count | BIGINT | steps | traced steps that the weights are taken from
    steps_ppm | BIGINT | 1e-6 steps | logged steps that they amount to; without a log, their number
    trace_count | BIGINT | traces | traces that they come from
    has_log | BOOLEAN | - | they are logged steps, and their time is clipped to the log's
    is_every_step | BOOLEAN | - | every logged step is traced, whole but for its ends
    busy_ns | BIGINT | ns | time in them in which the GPU works
    gap_ns | BIGINT | ns | time in them in which it does not
    normal_step_ns | BIGINT | ns | mean of the untraced steps, null without one
    normal_ns | BIGINT | ns | as much of normal steps as is traced, null without one
    traced_step_ns | BIGINT | ns | mean of the traced steps
    counter_busy_ns | BIGINT | ns | engine active from first to last step, without a log in paid in_step time; null without counters
    counted_ns | BIGINT | ns | time in logged steps without saves and idle runs; without a log, observed in_step time
    is_unfit | BOOLEAN | - | the hold itself does not fit
    is_unfit_attempt | BOOLEAN | - | some hold of the attempt does not fit
*/
with logged as (
    select
        hold_id,
        count(*) as step_count,
        count(*) filter (where step_no > 1 and not is_traced and step_ns > 0) as normal_count,
        cast(sum(case when step_no > 1 and not is_traced and step_ns > 0 then step_ns else 0 end) as bigint)
            as normal_ns,
        cast(sum(step_ns) as bigint) as in_step_ns
    from int_logged_step
    group by hold_id
),

traced as (
    select
        step.hold_id,
        max(case when step.step is not null then 1 else 0 end) = 1 as has_log,
        count(*) filter (where step.step is not null) as logged_count,
        count(distinct step.log_start_ns) as distinct_count,
        count(*) as window_count,
        cast(
            coalesce(
                sum(
                    case
                        when step.log_end_ns > step.log_start_ns
                            then cast(
                                least(step.end_ns, step.log_end_ns)
                                - greatest(step.start_ns, step.log_start_ns) as hugeint
                            ) * 1000000 // (step.log_end_ns - step.log_start_ns)
                    end
                ), 0
            ) as bigint
        ) as logged_ppm,
        count(distinct step.trace_no) as trace_count,
        bool_or(
            coalesce(trace.is_holed, false)
            or coalesce(loss.lost_count * 50 > loss.launch_count, false)
        ) as is_holed,
        cast(sum(step.end_ns - step.start_ns) as bigint) as window_ns,
        cast(
            coalesce(
                sum(case when step.step is not null then step.end_ns - step.start_ns end), 0
            ) as bigint
        ) as logged_window_ns
    from int_trace_step as step
    left join int_trace as trace
        on step.trace_no = trace.trace_no
    left join int_trace_loss as loss
        on step.trace_no = loss.trace_no
    group by step.hold_id
),

split as (
    select
        hold_id,
        cast(sum(case when is_busy then traced_ns else 0 end) as bigint) as busy_window_ns,
        cast(sum(case when is_busy then logged_ns else 0 end) as bigint) as busy_logged_ns,
        cast(sum(case when is_busy then 0 else traced_ns end) as bigint) as gap_window_ns,
        cast(sum(case when is_busy then 0 else logged_ns end) as bigint) as gap_logged_ns
    from (
        select
            *,
            bucket in ('compute', 'comm_wait', 'comm_exposed', 'copy_exposed') as is_busy
        from int_trace_bucket
    ) as bucket
    group by hold_id
),

counted as (
    select
        hold_id,
        cast(
            round(
                cast(sum(case when is_window then engine_sum else 0 end) as decimal(38, 0))
                * cast('0.000001' as decimal(7, 6)), 0
            ) as bigint
        ) as window_busy_ns,
        cast(sum(case when is_step then observed_ns else 0 end) as bigint) as step_seen_ns,
        cast(
            round(
                cast(sum(case when bundle_id > 0 then engine_sum else 0 end) as decimal(38, 0))
                * cast('0.000001' as decimal(7, 6)), 0
            ) as bigint
        ) as paid_busy_ns,
        cast(sum(case when bundle_id > 0 then observed_ns else 0 end) as bigint) as paid_seen_ns
    from int_activity
    group by hold_id
),

cut_log as (
    select distinct
        hold.hold_id
    from int_hold as hold
    inner join stg_source_coverage as cut
        on cut.source = 'steps'
        and cut.is_cut
        and (cut.job_id is null or hold.job_id = cut.job_id)
        and (cut.attempt is null or hold.attempt = cut.attempt)
),

fact as (
    select
        traced.hold_id,
        case when traced.has_log then traced.logged_count else traced.window_count end
            as window_count,
        case when traced.has_log then traced.logged_ppm else traced.window_count * 1000000 end
            as steps_ppm,
        traced.trace_count,
        traced.is_holed,
        traced.has_log,
        coalesce(
            -- A log with rejects does not say which steps there were.
            cut_log.hold_id is null
            and traced.distinct_count >= logged.step_count
            and traced.logged_ppm >= logged.step_count * 990000,
            false
        ) as is_every_step,
        case when traced.has_log then split.busy_logged_ns else split.busy_window_ns end as busy_ns,
        case when traced.has_log then split.gap_logged_ns else split.gap_window_ns end as gap_ns,
        case
            when traced.has_log and logged.normal_count > 0
                then logged.normal_ns // logged.normal_count
        end as normal_step_ns,
        case
            when traced.has_log and traced.logged_ppm > 0
                then cast(
                    cast(traced.logged_window_ns as hugeint) * 1000000 // traced.logged_ppm
                    as bigint
                )
            else traced.window_ns // traced.window_count
        end as traced_step_ns,
        case
            when logged.hold_id is not null and counted.step_seen_ns > 0
                then counted.window_busy_ns
            when logged.hold_id is null and counted.paid_seen_ns > 0 then counted.paid_busy_ns
        end as counter_busy_ns,
        coalesce(logged.in_step_ns, counted.paid_seen_ns) as counted_ns
    from traced
    inner join split
        on traced.hold_id = split.hold_id
    left join logged
        on traced.hold_id = logged.hold_id
    left join counted
        on traced.hold_id = counted.hold_id
    left join cut_log
        on traced.hold_id = cut_log.hold_id
),

scaled as (
    select
        *,
        cast(cast(normal_step_ns as hugeint) * steps_ppm // 1000000 as bigint) as normal_ns
    from fact
),

-- What busy time is held against: as much of normal steps, else the traced time itself.
measured as (
    select
        *,
        coalesce(normal_ns, busy_ns + gap_ns) as whole_ns
    from scaled
),

-- Shares are compared as products of whole numbers: busy / whole against counters / counted.
judged as (
    select
        *,
        coalesce(is_holed, false)
        or not is_every_step
        and (
            cast(busy_ns as hugeint) * 100 > cast(whole_ns as hugeint) * 102
            or (
                coalesce(traced_step_ns * 100 > normal_step_ns * 110, true)
                and coalesce(
                    abs(
                        cast(busy_ns as hugeint) * counted_ns
                        - cast(counter_busy_ns as hugeint) * whole_ns
                    ) * 20
                    > cast(whole_ns as hugeint) * counted_ns,
                    true
                )
            )
        ) as is_unfit
    from measured
)

select
    judged.hold_id,
    judged.window_count,
    judged.steps_ppm,
    judged.trace_count,
    judged.has_log,
    judged.is_every_step,
    judged.busy_ns,
    judged.gap_ns,
    judged.normal_step_ns,
    judged.normal_ns,
    judged.traced_step_ns,
    judged.counter_busy_ns,
    judged.counted_ns,
    judged.is_unfit,
    bool_or(judged.is_unfit) over (
        partition by hold.cluster, hold.job_id, hold.attempt
    ) as is_unfit_attempt
from judged
inner join int_hold as hold
    on judged.hold_id = hold.hold_id
