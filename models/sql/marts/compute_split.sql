/*
purpose: what the compute time of each attempt was for, from the shapes of its traced ops against the
    roofline: the in-kernel shortfall, which is no waste. The parts sum to the compute row.
    model_flops: FLOPs that the model needs, at peak. recompute: further FLOPs that were executed.
    executed_flops: FLOPs at peak where the step log does not say what the model needs.
    memory_ceiling: what the memory takes beyond that. below_roofline: beyond what the roofline
    allows. non_math: kernels without FLOPs. unsplit: no shapes, no peak or no trace.
grain: one row per month, attempt and part
keys: month, cluster, job_id, attempt, part
columns:
    month | DATE | - | month
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    part | VARCHAR | - | model_flops, recompute, executed_flops, memory_ceiling, below_roofline, non_math or unsplit
    gpu_ns | BIGINT | ns | billed GPU-time
    billed_usd | DECIMAL(38,12) | USD | billed cost
    method_id | VARCHAR | - | compute_split_shapes, or not_traced
checks:
    not_negative | blocking | gpu_ns >= 0
*/
select
    split.month,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    split.part,
    cast(sum(split.gpu_ns) as bigint) as gpu_ns,
    cast(
        cast(sum(split.pico_usd) as decimal(38, 0)) * cast('0.000000000001' as decimal(13, 12))
        as decimal(38, 12)
    ) as billed_usd,
    max(split.method_id) as method_id
from int_compute_part as split
inner join int_hold as hold
    on split.hold_id = hold.hold_id
group by
    split.month,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    split.part
