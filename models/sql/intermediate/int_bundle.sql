/*
purpose: lines that pay GPUs of one resource in overlapping time are one bundle
grain: one row per resource and connected stretch of charge periods
keys: bundle_id
columns:
    bundle_id | BIGINT | - | number of the bundle in this run, from 1
    resource_id | VARCHAR | - | resource
    start_ns | BIGINT | ns | start of the charge periods, epoch
    end_ns | BIGINT | ns | end of the charge periods, epoch, exclusive
    charge_period_start | TIMESTAMP WITH TIME ZONE | UTC | start of the charge periods
    month | DATE | - | month of the start
    gpu_count | BIGINT | GPUs | GPUs that are billed side by side
    billed_gpu_ns | BIGINT | ns | billed GPU-time of all its lines
    bill_team | VARCHAR | - | team's tag of its lines
*/
with ordered as (
    select
        *,
        max(end_ns) over (
            partition by resource_id
            order by start_ns, end_ns, line_id
            rows between unbounded preceding and 1 preceding
        ) as reach_ns
    from stg_bill_line
    where pays_gpu
),

numbered as (
    select
        *,
        cast(
            sum(case when reach_ns > start_ns then 0 else 1 end) over (
                partition by resource_id
                order by start_ns, end_ns, line_id
                rows unbounded preceding
            ) as bigint
        ) as stretch_no
    from ordered
)

select
    cast(row_number() over (order by resource_id, stretch_no) as bigint) as bundle_id,
    resource_id,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    min(charge_period_start) as charge_period_start,
    min(month) as month,
    cast(ceil(max(gpu_count)) as bigint) as gpu_count,
    cast(sum(billed_gpu_ns) as bigint) as billed_gpu_ns,
    max(bill_team) as bill_team
from numbered
group by
    resource_id,
    stretch_no
