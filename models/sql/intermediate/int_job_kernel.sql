/*
purpose: kernels of each job over its holds: traced time, estimated time and cost, and the sums that
    its roofline is read from
grain: one row per month, team, job, bucket, module, op and kernel family
keys: month, team, cluster, job_id, bucket, module, op, kernel_family
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed or copy_exposed
    module | VARCHAR | - | module, null where unproven
    op | VARCHAR | - | op, null where unproven
    kernel_family | VARCHAR | - | kernel family, or (not traced)
    traced_calls | BIGINT | kernels | kernels with time in the bucket, in traced steps of the month
    traced_gpu_ns | BIGINT | ns | their exclusive time there
    calls | BIGINT | kernels | estimate for all steps, null without a step log
    gpu_ns | BIGINT | ns | billed GPU-time
    pico_usd | DECIMAL(38,0) | 1e-12 USD | billed cost
    low_pico_usd | DECIMAL(38,0) | 1e-12 USD | at the bucket's low bound
    high_pico_usd | DECIMAL(38,0) | 1e-12 USD | at the bucket's high bound
    known_ns | BIGINT | ns | exclusive time whose roofline is known
    flops_ns | BIGINT | ns | of it, its FLOPs at peak
    bytes_ns | BIGINT | ns | of it, its bytes at full bandwidth
    attainable_ns | BIGINT | ns | of it, the longer of the two
*/
with stepped as (
    select
        step.hold_id,
        hour_of.month,
        count(*) as steps
    from int_step as step
    inner join run_hour as hour_of
        on step.start_ns // 3600000000000 = hour_of.hour_id
    group by
        step.hold_id,
        hour_of.month
)

select
    cost.month,
    hold.team,
    hold.cluster,
    hold.job_id,
    cost.bucket,
    cost.module,
    cost.op,
    cost.kernel_family,
    cast(sum(coalesce(traced.traced_calls, 0)) as bigint) as traced_calls,
    cast(sum(coalesce(traced.traced_ns, 0)) as bigint) as traced_gpu_ns,
    case
        when count(stepped.steps) = count(*) and count(row_of.row_no) = count(*)
            then cast(
                sum(
                    cast(row_of.traced_calls as hugeint) * stepped.steps * 1000000
                    // nullif(fit.steps_ppm, 0)
                ) as bigint
            )
    end as calls,
    cast(sum(cost.gpu_ns) as bigint) as gpu_ns,
    cast(sum(cost.pico_usd) as decimal(38, 0)) as pico_usd,
    cast(sum(cost.low_pico_usd) as decimal(38, 0)) as low_pico_usd,
    cast(sum(cost.high_pico_usd) as decimal(38, 0)) as high_pico_usd,
    cast(sum(coalesce(row_of.known_ns, 0)) as bigint) as known_ns,
    cast(sum(coalesce(row_of.flops_ns, 0)) as bigint) as flops_ns,
    cast(sum(coalesce(row_of.bytes_ns, 0)) as bigint) as bytes_ns,
    cast(sum(coalesce(row_of.attainable_ns, 0)) as bigint) as attainable_ns
from int_kernel_cost as cost
inner join int_hold as hold
    on cost.hold_id = hold.hold_id
left join int_kernel_row as row_of
    on cost.hold_id = row_of.hold_id
    and cost.bucket = row_of.bucket
    and cost.row_no = row_of.row_no
left join int_kernel_traced as traced
    on cost.month = traced.month
    and cost.hold_id = traced.hold_id
    and cost.bucket = traced.bucket
    and cost.row_no = traced.row_no
left join int_trace_fit as fit
    on cost.hold_id = fit.hold_id
left join stepped
    on cost.hold_id = stepped.hold_id
    and cost.month = stepped.month
group by
    cost.month,
    hold.team,
    hold.cluster,
    hold.job_id,
    cost.bucket,
    cost.module,
    cost.op,
    cost.kernel_family
