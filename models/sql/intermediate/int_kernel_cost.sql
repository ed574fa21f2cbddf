/*
purpose: the compute, communication and copy time of each hold and its cost on the kernels that its
    traces show there, by exclusive traced time, integer weights and largest remainder: the rows of
    a bucket sum to the bucket. What no trace divides is one row (not traced).
grain: one row per month, hold, bucket, module, op and kernel family
keys: month, hold_id, bucket, method_id, module, op, kernel_family
columns:
    month | DATE | - | month
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed or copy_exposed
    method_id | VARCHAR | - | how the bucket's time was found
    module | VARCHAR | - | module, null where unproven
    op | VARCHAR | - | op, null where unproven
    kernel_family | VARCHAR | - | kernel family, or (not traced)
    row_no | BIGINT | - | row of int_kernel_row, null where not traced
    gpu_ns | BIGINT | ns | billed GPU-time
    pico_usd | DECIMAL(38,0) | 1e-12 USD | billed cost
    low_pico_usd | DECIMAL(38,0) | 1e-12 USD | at the bucket's low bound
    high_pico_usd | DECIMAL(38,0) | 1e-12 USD | at the bucket's high bound
checks:
    time_not_negative | blocking | gpu_ns >= 0
*/
with bucket as (
    select
        *,
        method_id in ('in_step_trace', 'in_step_trace_unfit') as is_traced,
        case when billed_usd < 0 then -1 else 1 end as sign,
        cast(cast(abs(billed_usd) * 1000000000000 as decimal(38, 0)) as hugeint) as pico
    from int_bucket_money
    where
        bucket in ('compute', 'comm_wait', 'comm_exposed', 'copy_exposed')
        and gpu_ns > 0
),

cell as (
    select
        bucket.*,
        row_of.module,
        row_of.op,
        coalesce(row_of.kernel_family, '(not traced)') as kernel_family,
        row_of.row_no,
        cast(coalesce(row_of.traced_ns, 1) as hugeint) as weight,
        cast(
            sum(coalesce(row_of.traced_ns, 1)) over (
                partition by bucket.month, bucket.hold_id, bucket.bucket, bucket.method_id
            ) as hugeint
        ) as all_weight
    from bucket
    left join int_kernel_row as row_of
        on bucket.is_traced
        and bucket.hold_id = row_of.hold_id
        and bucket.bucket = row_of.bucket
),

floored as (
    select
        *,
        gpu_ns * weight // all_weight as ns,
        pico * weight // all_weight as money,
        row_number() over (
            partition by month, hold_id, bucket, method_id
            order by gpu_ns * weight % all_weight desc, row_no
        ) as ns_turn,
        row_number() over (
            partition by month, hold_id, bucket, method_id
            order by pico * weight % all_weight desc, row_no
        ) as money_turn
    from cell
),

left_over as (
    select
        month,
        hold_id,
        bucket,
        method_id,
        max(gpu_ns) - cast(sum(ns) as hugeint) as ns_left,
        max(pico) - cast(sum(money) as hugeint) as money_left
    from floored
    group by
        month,
        hold_id,
        bucket,
        method_id
),

exact as (
    select
        floored.*,
        floored.ns + case when floored.ns_turn <= left_over.ns_left then 1 else 0 end as row_ns,
        floored.sign
        * (floored.money + case when floored.money_turn <= left_over.money_left then 1 else 0 end)
            as row_pico
    from floored
    inner join left_over
        on floored.month = left_over.month
        and floored.hold_id = left_over.hold_id
        and floored.bucket = left_over.bucket
        and floored.method_id = left_over.method_id
)

select
    month,
    hold_id,
    bucket,
    method_id,
    module,
    op,
    kernel_family,
    row_no,
    cast(row_ns as bigint) as gpu_ns,
    cast(row_pico as decimal(38, 0)) as pico_usd,
    cast(row_pico * low_gpu_ns // gpu_ns as decimal(38, 0)) as low_pico_usd,
    cast(row_pico * high_gpu_ns // gpu_ns as decimal(38, 0)) as high_pico_usd
from exact
