/*
purpose: traced GPU work of each hold by bucket, module, op and kernel family
grain: one row per hold, bucket, module, op and kernel family
keys: hold_id, bucket, module, op, kernel_family
columns:
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed or copy_exposed
    module | VARCHAR | - | module, null where unproven
    op | VARCHAR | - | op, null where unproven
    kernel_family | VARCHAR | - | kernel family
    row_no | BIGINT | - | number of the row in its hold and bucket, from 1
    traced_calls | BIGINT | kernels | activities with time in the bucket
    traced_ns | BIGINT | ns | exclusive time in the traced steps
    known_ns | BIGINT | ns | exclusive time whose roofline is known
    flops_ns | BIGINT | ns | of it, its FLOPs at peak
    bytes_ns | BIGINT | ns | of it, its bytes at full bandwidth
    attainable_ns | BIGINT | ns | of it, the longer of the two, each kernel at most its duration
    executed_flops | DECIMAL(38,0) | FLOP | FLOPs of the exclusive time
    executed_ns | BIGINT | ns | exclusive time that FLOPs at peak take
    ceiling_ns | BIGINT | ns | exclusive time that the memory takes beyond that
    shortfall_ns | BIGINT | ns | exclusive time beyond what the roofline allows
    non_math_ns | BIGINT | ns | exclusive time of work without FLOPs
*/
with part as (
    select
        share.hold_id,
        share.bucket,
        work.module,
        work.op,
        work.family,
        share.event_no,
        share.trace_no,
        share.share_ns,
        work.run_ns,
        work.flops,
        work.flops_ns,
        work.bytes_ns,
        -- A cache can beat the memory, and no clock beats the peak: both end at the duration.
        least(work.flops_ns, work.run_ns) as ideal_ns,
        least(greatest(work.flops_ns, coalesce(work.bytes_ns, 0)), work.run_ns) as attainable_ns
    from int_kernel_share as share
    inner join int_kernel_work as work
        on share.trace_no = work.trace_no
        and share.event_no = work.event_no
),

scaled as (
    select
        *,
        flops > 0 and flops_ns is not null and bucket = 'compute' as is_math,
        flops_ns is not null and bytes_ns is not null and bucket = 'compute' as is_known,
        cast(cast(share_ns as hugeint) * flops_ns // run_ns as bigint) as share_flops_ns,
        cast(cast(share_ns as hugeint) * bytes_ns // run_ns as bigint) as share_bytes_ns,
        cast(cast(share_ns as hugeint) * ideal_ns // run_ns as bigint) as share_ideal_ns,
        cast(cast(share_ns as hugeint) * attainable_ns // run_ns as bigint) as share_attainable_ns
    from part
)

select
    hold_id,
    bucket,
    module,
    op,
    family as kernel_family,
    row_number() over (
        partition by hold_id, bucket
        order by module nulls last, op nulls last, family
    ) as row_no,
    count(distinct concat(cast(trace_no as varchar), ':', cast(event_no as varchar)))
        as traced_calls,
    cast(sum(share_ns) as bigint) as traced_ns,
    cast(coalesce(sum(case when is_known then share_ns end), 0) as bigint) as known_ns,
    cast(coalesce(sum(case when is_known then share_flops_ns end), 0) as bigint) as flops_ns,
    cast(coalesce(sum(case when is_known then share_bytes_ns end), 0) as bigint) as bytes_ns,
    cast(coalesce(sum(case when is_known then share_attainable_ns end), 0) as bigint)
        as attainable_ns,
    cast(
        coalesce(
            sum(
                case
                    when is_math
                        then cast(cast(flops as hugeint) * share_ns // run_ns as decimal(38, 0))
                end
            ), 0
        ) as decimal(38, 0)
    ) as executed_flops,
    cast(coalesce(sum(case when is_math then share_ideal_ns end), 0) as bigint) as executed_ns,
    cast(coalesce(sum(case when is_math then share_attainable_ns - share_ideal_ns end), 0) as bigint)
        as ceiling_ns,
    cast(coalesce(sum(case when is_math then share_ns - share_attainable_ns end), 0) as bigint)
        as shortfall_ns,
    cast(
        coalesce(sum(case when flops = 0 and bucket = 'compute' then share_ns end), 0) as bigint
    ) as non_math_ns
from scaled
group by
    hold_id,
    bucket,
    module,
    op,
    family
