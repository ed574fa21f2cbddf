/*
purpose: compute time and cost of each hold by what it was for: exact by integer weights and largest
    remainder. The weights are exclusive traced times (int_kernel_row); FLOPs at peak are divided by
    the model FLOPs that the log gives for the same traced steps.
grain: one row per month, hold, method of the compute row and part
keys: month, hold_id, bucket_method_id, part
columns:
    month | DATE | - | month
    hold_id | BIGINT | - | hold
    bucket_method_id | VARCHAR | - | how the compute row was found
    part | VARCHAR | - | part of compute
    gpu_ns | BIGINT | ns | billed GPU-time
    pico_usd | DECIMAL(38,0) | 1e-12 USD | billed cost
    method_id | VARCHAR | - | compute_split_shapes, or not_traced
*/
with traced as (
    select
        hold_id,
        cast(sum(traced_ns) as bigint) as traced_ns,
        cast(sum(executed_ns) as bigint) as executed_ns,
        cast(sum(executed_flops) as decimal(38, 0)) as executed_flops,
        cast(sum(ceiling_ns) as bigint) as ceiling_ns,
        cast(sum(shortfall_ns) as bigint) as shortfall_ns,
        cast(sum(non_math_ns) as bigint) as non_math_ns
    from int_kernel_row
    where bucket = 'compute'
    group by hold_id
),

needed as (
    select
        traced.hold_id,
        case
            when count(logged.model_flops) = count(*)
                -- A traced step needs as much of the logged step's FLOPs as it covers of its time.
                -- A log of 0 FLOPs is of work that has no such number, as a notebook's.
                then nullif(cast(
                    sum(
                        cast(logged.model_flops as hugeint)
                        * (
                            least(traced.end_ns, traced.log_end_ns)
                            - greatest(traced.start_ns, traced.log_start_ns)
                        )
                        // nullif(traced.log_end_ns - traced.log_start_ns, 0)
                    ) as decimal(38, 0)
                ), 0)
        end as model_flops
    from int_trace_step as traced
    left join int_step as logged
        on traced.hold_id = logged.hold_id
        and traced.step = logged.step
        and traced.log_start_ns = logged.start_ns
    group by traced.hold_id
),

-- Of the FLOPs at peak, as much as the model needs of what was executed.
split as (
    select
        traced.*,
        case
            when needed.model_flops is null then 0
            when needed.model_flops >= traced.executed_flops then traced.executed_ns
            else cast(
                cast(traced.executed_ns as hugeint) * cast(needed.model_flops as hugeint)
                // cast(traced.executed_flops as hugeint) as bigint
            )
        end as model_ns,
        needed.model_flops is not null as has_model
    from traced
    inner join needed
        on traced.hold_id = needed.hold_id
),

part as (
    select hold_id, 'model_flops' as part, model_ns as weight
    from split
    union all
    select hold_id, 'recompute' as part, executed_ns - model_ns as weight
    from split
    where has_model
    union all
    select hold_id, 'executed_flops' as part, executed_ns as weight
    from split
    where not has_model
    union all
    select hold_id, 'memory_ceiling' as part, ceiling_ns as weight
    from split
    union all
    select hold_id, 'below_roofline' as part, shortfall_ns as weight
    from split
    union all
    select hold_id, 'non_math' as part, non_math_ns as weight
    from split
    union all
    select
        hold_id,
        'unsplit' as part,
        traced_ns - executed_ns - ceiling_ns - shortfall_ns - non_math_ns as weight
    from split
),

compute as (
    select
        *,
        method_id in ('in_step_trace', 'in_step_trace_unfit') as is_traced,
        case when billed_usd < 0 then -1 else 1 end as sign,
        cast(cast(abs(billed_usd) * 1000000000000 as decimal(38, 0)) as hugeint) as pico
    from int_bucket_money
    where
        bucket = 'compute'
        and gpu_ns > 0
),

cell as (
    select
        compute.month,
        compute.hold_id,
        compute.method_id,
        compute.is_traced,
        compute.gpu_ns,
        compute.sign,
        compute.pico,
        coalesce(part.part, 'unsplit') as part,
        cast(coalesce(part.weight, 1) as hugeint) as weight,
        cast(
            sum(coalesce(part.weight, 1)) over (
                partition by compute.month, compute.hold_id, compute.method_id
            ) as hugeint
        ) as all_weight
    from compute
    left join part
        on compute.is_traced
        and compute.hold_id = part.hold_id
        and part.weight > 0
),

floored as (
    select
        *,
        gpu_ns * weight // all_weight as ns,
        pico * weight // all_weight as money,
        row_number() over (
            partition by month, hold_id, method_id
            order by gpu_ns * weight % all_weight desc, part
        ) as ns_turn,
        row_number() over (
            partition by month, hold_id, method_id
            order by pico * weight % all_weight desc, part
        ) as money_turn
    from cell
),

left_over as (
    select
        month,
        hold_id,
        method_id,
        max(gpu_ns) - cast(sum(ns) as hugeint) as ns_left,
        max(pico) - cast(sum(money) as hugeint) as money_left
    from floored
    group by
        month,
        hold_id,
        method_id
)

select
    floored.month,
    floored.hold_id,
    floored.method_id as bucket_method_id,
    floored.part,
    cast(
        floored.ns + case when floored.ns_turn <= left_over.ns_left then 1 else 0 end as bigint
    ) as gpu_ns,
    cast(
        floored.sign * (
            floored.money + case when floored.money_turn <= left_over.money_left then 1 else 0 end
        ) as decimal(38, 0)
    ) as pico_usd,
    case when floored.is_traced then 'compute_split_shapes' else 'not_traced' end as method_id
from floored
inner join left_over
    on floored.month = left_over.month
    and floored.hold_id = left_over.hold_id
    and floored.method_id = left_over.method_id
