/*
purpose: collectives as each rank's GPU ran them, with the number of the match that each is of.
    Matched by number where every rank's trace or recorder gives it, else by group, kind and order
    within the step. A match needs every participant; one by order needs the same elements too.
    Whether its kernels overlap in time is for int_collective_call to say, which knows the clocks.
grain: one row per collective kernel on a hold
keys: trace_no, event_no
columns:
    trace_no | BIGINT | - | trace
    event_no | BIGINT | - | event in the file
    hold_id | BIGINT | - | hold
    rank | BIGINT | - | rank
    node | VARCHAR | - | node, empty where not known
    group_key | VARCHAR | - | process group and its ranks
    start_ns | BIGINT | ns | start by its own host's clock, epoch
    end_ns | BIGINT | ns | end, exclusive
    match_no | BIGINT | - | number of the match, null without every participant
    matched_by | VARCHAR | - | seq, order or null
*/
with hosted as (
    select
        work.trace_no,
        work.event_no,
        work.hold_id,
        work.start_ns,
        work.end_ns,
        coalesce(work.collective, '') as collective,
        work.group_name,
        work.group_key,
        work.group_size,
        work.seq,
        coalesce(work.in_elements, -1) as in_elements,
        coalesce(op.start_ns, launch.start_ns, work.start_ns) as host_ns,
        op.start_ns as op_start_ns,
        op.end_ns as op_end_ns
    from int_gpu_work as work
    left join int_launch as launch
        on work.trace_no = launch.trace_no
        and work.correlation = launch.correlation
    left join int_op as op
        on work.trace_no = op.trace_no
        and work.external_id = op.external_id
        and op.name = 'record_param_comms'
    where work.kind = 'comm'
),

recorded as (
    select
        hosted.trace_no,
        hosted.event_no,
        min(kept.seq) as seq
    from (
        select
            *,
            unnest(generate_series(op_start_ns // 1000000000, op_end_ns // 1000000000))
                as second_id
        from hosted
        where op_start_ns is not null
    ) as hosted
    inner join int_hold as hold
        on hosted.hold_id = hold.hold_id
    inner join stg_collective as kept
        on hold.job_id = kept.job_id
        and (kept.cluster is null or kept.cluster = hold.cluster)
        and (kept.attempt is null or kept.attempt = hold.attempt)
        and kept.rank = hold.rank
        and kept.group_name = hosted.group_name
        and kept.created_ns // 1000000000 = hosted.second_id
        and kept.created_ns >= hosted.op_start_ns
        and kept.created_ns <= hosted.op_end_ns
    group by
        hosted.trace_no,
        hosted.event_no
    having count(distinct kept.seq) = 1
),

stepped as (
    select
        hosted.*,
        hold.cluster,
        hold.job_id,
        hold.attempt,
        hold.rank,
        coalesce(hold.node, '') as node,
        coalesce(hosted.seq, recorded.seq) as any_seq,
        coalesce(step.step, step.profiler_step) as step
    from hosted
    inner join int_hold as hold
        on hosted.hold_id = hold.hold_id
    left join recorded
        on hosted.trace_no = recorded.trace_no
        and hosted.event_no = recorded.event_no
    left join int_trace_step as step
        on hosted.trace_no = step.trace_no
        and hosted.hold_id = step.hold_id
        and hosted.host_ns >= step.start_ns
        and hosted.host_ns < step.end_ns
),

keyed as (
    select
        *,
        case
            when any_seq is not null then concat('seq ', cast(any_seq as varchar))
            when step is not null
                then concat(
                    'order ',
                    cast(step as varchar),
                    ' ',
                    cast(
                        row_number() over (
                            partition by trace_no, hold_id, group_key, collective, step
                            order by host_ns, start_ns, event_no
                        ) as varchar
                    )
                )
        end as match_key
    from stepped
),

-- Two kernels of one rank with one key (a collective of several kernels) match nothing.
complete as (
    select
        cluster,
        job_id,
        attempt,
        group_key,
        collective,
        match_key,
        row_number() over (
            order by cluster, job_id, attempt, group_key, collective, match_key
        ) as match_no
    from keyed
    where
        match_key is not null
        and group_key is not null
    group by
        cluster,
        job_id,
        attempt,
        group_key,
        collective,
        match_key
    having
        count(distinct rank) = max(group_size)
        and count(*) = max(group_size)
        and max(group_size) > 1
        and (max(in_elements) = min(in_elements) or starts_with(match_key, 'seq '))
)

select
    keyed.trace_no,
    keyed.event_no,
    keyed.hold_id,
    keyed.rank,
    keyed.node,
    keyed.group_key,
    keyed.start_ns,
    keyed.end_ns,
    cast(complete.match_no as bigint) as match_no,
    case
        when complete.match_no is null then null
        when keyed.any_seq is not null then 'seq'
        else 'order'
    end as matched_by
from keyed
left join complete
    on keyed.cluster = complete.cluster
    and keyed.job_id = complete.job_id
    and keyed.attempt = complete.attempt
    and keyed.group_key = complete.group_key
    and keyed.collective = complete.collective
    and keyed.match_key = complete.match_key
