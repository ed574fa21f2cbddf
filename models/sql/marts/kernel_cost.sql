/*
purpose: what kernels cost: the compute, communication and copy time of each job on the kernels that
    its traces show there. direct_usd sums to the bucket, loaded_usd to the job: it carries the
    job's other buckets pro rata. What no trace divides is (not traced).
grain: one row per month, team, job, bucket, module, op and kernel family
keys: month, team, cluster, job_id, bucket, module, op, kernel_family
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed or copy_exposed; null where the job has none of them
    module | VARCHAR | - | classes from the outermost module in, null where unproven
    op | VARCHAR | - | framework op, null where unproven
    kernel_family | VARCHAR | - | kernel family, or (not traced)
    traced_calls | BIGINT | kernels | kernels with time in the bucket, in traced steps of the month
    traced_gpu_ns | BIGINT | ns | their exclusive time there
    calls | BIGINT | kernels | estimate for all steps of the job, null without a step log
    gpu_ns | BIGINT | ns | billed GPU-time, estimated for the whole job
    direct_usd | DECIMAL(38,12) | USD | billed cost of that time
    loaded_usd | DECIMAL(38,12) | USD | with its part of the job's other buckets
    low_usd | DECIMAL(38,12) | USD | direct_usd at the bucket's low bound
    high_usd | DECIMAL(38,12) | USD | direct_usd at the bucket's high bound
    bound | VARCHAR | - | side of the roofline by its shapes: compute or memory; null where unknown
    limiter | VARCHAR | - | what it runs at 60 % or more of: compute or memory; else latency
    achieved_ratio | DOUBLE | ratio | time that the roofline allows / time taken
    coverage_ratio | DOUBLE | ratio | traced time / in_step time of the job
checks:
    not_negative | blocking | gpu_ns >= 0 and traced_gpu_ns >= 0
*/
with job as (
    select
        month,
        team,
        cluster,
        job_id,
        cast(
            cast(sum(billed_usd) as decimal(38, 12)) * 1000000000000 as decimal(38, 0)
        ) as job_pico,
        cast(sum(case when level1 = 'in_step' then gpu_ns else 0 end) as bigint) as in_step_ns
    from int_bucket_money as money
    inner join waste_rule as rule
        on money.bucket = rule.bucket
    group by
        month,
        team,
        cluster,
        job_id
),

traced as (
    select
        hour_of.month,
        hold.team,
        hold.cluster,
        hold.job_id,
        cast(
            sum(case when fit.has_log then part.logged_ns else part.traced_ns end) as bigint
        ) as traced_ns
    from int_trace_step as step
    inner join int_trace_bucket as part
        on step.window_id = part.window_id
    inner join int_trace_fit as fit
        on step.hold_id = fit.hold_id
    inner join int_hold as hold
        on step.hold_id = hold.hold_id
    inner join run_hour as hour_of
        on step.start_ns // 3600000000000 = hour_of.hour_id
    group by
        hour_of.month,
        hold.team,
        hold.cluster,
        hold.job_id
),

-- A job without any of these buckets still has its cost: one row carries it.
kernel as (
    select
        job.month,
        job.team,
        job.cluster,
        job.job_id,
        job.in_step_ns,
        traced.traced_ns,
        part.bucket,
        part.module,
        part.op,
        coalesce(part.kernel_family, '(not traced)') as kernel_family,
        coalesce(part.traced_calls, 0) as traced_calls,
        coalesce(part.traced_gpu_ns, 0) as traced_gpu_ns,
        part.calls,
        coalesce(part.gpu_ns, 0) as gpu_ns,
        cast(coalesce(part.pico_usd, 0) as hugeint) as pico,
        coalesce(part.low_pico_usd, 0) as low_pico,
        coalesce(part.high_pico_usd, 0) as high_pico,
        part.known_ns,
        part.flops_ns,
        part.bytes_ns,
        part.attainable_ns,
        cast(job.job_pico as hugeint)
        - cast(
            sum(coalesce(part.pico_usd, 0)) over of_job as hugeint
        ) as other_pico,
        cast(
            sum(coalesce(part.gpu_ns, 0)) over of_job as hugeint
        ) as all_ns,
        row_number() over (
            partition by job.month, job.team, job.cluster, job.job_id
            order by part.gpu_ns desc, part.bucket, part.module, part.op, part.kernel_family
        ) as row_no
    from job
    left join int_job_kernel as part
        on job.month = part.month
        and job.team = part.team
        and job.cluster = part.cluster
        and job.job_id = part.job_id
    left join traced
        on job.month = traced.month
        and job.team = traced.team
        and job.cluster = traced.cluster
        and job.job_id = traced.job_id
    window of_job as (partition by job.month, job.team, job.cluster, job.job_id)
),

loaded as (
    select
        *,
        case when other_pico < 0 then -1 else 1 end as sign,
        case
            when all_ns > 0 then abs(other_pico) * gpu_ns // all_ns
            when row_no = 1 then abs(other_pico)
            else 0
        end as share_pico,
        row_number() over (
            partition by month, team, cluster, job_id
            order by
                case when all_ns > 0 then abs(other_pico) * gpu_ns % all_ns else 0 end desc, row_no
        ) as turn
    from kernel
),

complete as (
    select
        *,
        pico + sign * (
            share_pico
            + case
                when
                    turn <= abs(other_pico) - cast(
                        sum(share_pico) over (partition by month, team, cluster, job_id) as hugeint
                    ) then 1
                else 0
            end
        ) as loaded_pico
    from loaded
)

select
    month,
    team,
    cluster,
    job_id,
    bucket,
    module,
    op,
    kernel_family,
    traced_calls,
    traced_gpu_ns,
    calls,
    gpu_ns,
    cast(
        cast(pico as decimal(38, 0)) * cast('0.000000000001' as decimal(13, 12)) as decimal(38, 12)
    ) as direct_usd,
    cast(
        cast(loaded_pico as decimal(38, 0)) * cast('0.000000000001' as decimal(13, 12))
        as decimal(38, 12)
    ) as loaded_usd,
    cast(low_pico * cast('0.000000000001' as decimal(13, 12)) as decimal(38, 12)) as low_usd,
    cast(high_pico * cast('0.000000000001' as decimal(13, 12)) as decimal(38, 12)) as high_usd,
    case
        when known_ns > 0 and flops_ns >= bytes_ns then 'compute'
        when known_ns > 0 then 'memory'
    end as bound,
    case
        when known_ns > 0 and greatest(flops_ns, bytes_ns) * 10 < known_ns * 6 then 'latency'
        when known_ns > 0 and flops_ns >= bytes_ns then 'compute'
        when known_ns > 0 then 'memory'
    end as limiter,
    case when known_ns > 0 then cast(attainable_ns as double) / cast(known_ns as double) end
        as achieved_ratio,
    case
        when in_step_ns > 0
            then cast(least(coalesce(traced_ns, 0), in_step_ns) as double)
            / cast(in_step_ns as double)
    end as coverage_ratio
from complete
