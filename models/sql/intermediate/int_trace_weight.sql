/*
purpose: by which weights the in_step time of a hold is divided.
    Busy buckets weigh what the traced steps show. Gaps weigh what is left of normal steps, in the
    traced proportions: the profiler makes gaps longer. Waiting for a straggler weighs by the rank
    that came last.
grain: one row per hold, bucket and straggler
keys: hold_id, bucket, cause_hold_id
columns:
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | bucket
    cause_hold_id | BIGINT | - | hold of the rank that is waited for, 0 where none
    weight | BIGINT | ns | weight: time in as much of steps as is traced
*/
with share as (
    select
        part.hold_id,
        part.bucket,
        part.bucket in ('compute', 'comm_wait', 'comm_exposed', 'copy_exposed') as is_busy,
        cast(
            sum(case when fit.has_log then part.logged_ns else part.traced_ns end) as bigint
        ) as part_ns
    from int_trace_bucket as part
    inner join int_trace_fit as fit
        on part.hold_id = fit.hold_id
    group by
        part.hold_id,
        part.bucket
),

weighed as (
    select
        share.hold_id,
        share.bucket,
        case
            when share.is_busy or fit.normal_ns is null or fit.gap_ns = 0 then share.part_ns
            else cast(
                cast(share.part_ns as hugeint)
                * greatest(fit.normal_ns - fit.busy_ns, 0)
                // fit.gap_ns as bigint
            )
        end as weight
    from share
    inner join int_trace_fit as fit
        on share.hold_id = fit.hold_id
),

-- Where the traced steps have no gap at all, what a normal step has beyond them is unexplained.
rest as (
    select
        hold_id,
        normal_ns - busy_ns as weight
    from int_trace_fit
    where
        gap_ns = 0
        and normal_ns > busy_ns
),

-- Only waiting that nothing hides: what runs beside a kernel costs nobody time.
waiting as (
    select
        share.hold_id,
        call.last_hold_id as cause_hold_id,
        cast(sum(share.share_ns) as bigint) as wait_ns
    from int_kernel_share as share
    inner join int_collective_call as call
        on share.trace_no = call.trace_no
        and share.event_no = call.event_no
    where
        share.bucket = 'comm_wait'
        and call.last_hold_id is not null
        and share.share_ns > 0
    group by
        share.hold_id,
        call.last_hold_id
),

waited as (
    select
        hold_id,
        cause_hold_id,
        wait_ns,
        cast(sum(wait_ns) over (partition by hold_id) as bigint) as all_ns,
        cast(
            sum(wait_ns) over (
                partition by hold_id order by cause_hold_id rows unbounded preceding
            ) as bigint
        ) as until_ns
    from waiting
)

select
    weighed.hold_id,
    weighed.bucket,
    coalesce(waited.cause_hold_id, 0) as cause_hold_id,
    case
        when waited.hold_id is null then weighed.weight
        -- Differences of rounded running sums: they add up to the bucket's weight exactly.
        else cast(
            cast(weighed.weight as hugeint) * waited.until_ns // waited.all_ns
            - cast(weighed.weight as hugeint) * (waited.until_ns - waited.wait_ns)
            // waited.all_ns as bigint
        )
    end as weight
from weighed
left join waited
    on weighed.hold_id = waited.hold_id
    and weighed.bucket = 'comm_wait'
where weighed.weight > 0
union all
select
    hold_id,
    'gap_unknown' as bucket,
    0 as cause_hold_id,
    weight
from rest
