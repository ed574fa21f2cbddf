/*
purpose: where each line's money goes, with integer weights.
    A line that pays a GPU, and its companions, go to all rows of the bundle by their GPU-time. An
    unused commitment, a GPU line without a resource and one whose count is unknown are one row.
    A line that pays no GPU goes to the team of its tag, else to the teams by int_team_weight, else
    to the platform.
grain: one row per line and target
keys: line_id, target_no
columns:
    line_id | VARCHAR | - | bill line
    target_no | BIGINT | - | number of the target, from 1, in a stable order
    bundle_id | BIGINT | - | bundle, null for a line without one
    row_no | BIGINT | - | row of int_state, null for a line without a bundle
    bucket | VARCHAR | - | bucket of a line without a bundle
    payer_team | VARCHAR | - | team of a line without a bundle
    method_id | VARCHAR | - | method of a line without a bundle
    gpu_ns | BIGINT | ns | billed GPU-time of the target
    weight | DECIMAL(38,0) | - | weight of the target
checks:
    weight_not_negative | blocking | weight >= 0
*/
with over_bundle as (
    select
        line.line_id,
        line.bundle_id,
        state.row_no,
        coalesce(time_of.gpu_ns, 0) as gpu_ns,
        cast(state.gpu_ns as decimal(38, 0)) as weight
    from int_bundle_line as line
    inner join int_state as state
        on line.bundle_id = state.bundle_id
    left join int_line_time as time_of
        on line.bundle_id = time_of.bundle_id
        and line.line_id = time_of.line_id
        and state.row_no = time_of.row_no
),

-- GPU resources of which no line says how many GPUs it pays.
uncounted as (
    select distinct gpu.resource_id
    from stg_gpu_inventory as gpu
    left join int_bundle as bundle
        on gpu.resource_id = bundle.resource_id
    where
        gpu.resource_id is not null
        and bundle.resource_id is null
),

alone as (
    select
        line.line_id,
        line.month,
        case
            when line.is_unused then 'commitment_unused'
            when
                line.charge_category = 'Usage'
                and (line.gpu_count > 0 or uncounted.resource_id is not null)
                then 'billed_not_seen'
            else 'non_gpu'
        end as bucket,
        tag.team as tag_team,
        line.billed_gpu_ns as gpu_ns
    from stg_bill_line as line
    left join int_bundle_line as bundled
        on line.line_id = bundled.line_id
    left join uncounted
        on line.resource_id = uncounted.resource_id
    left join int_tag_team as tag
        on line.bill_team = tag.bill_team
        and line.month = tag.month
    where bundled.line_id is null
),

target as (
    select
        line_id,
        bundle_id,
        row_no,
        cast(null as varchar) as bucket,
        cast(null as varchar) as payer_team,
        cast(null as varchar) as method_id,
        gpu_ns,
        weight
    from over_bundle
    union all
    select
        alone.line_id,
        cast(null as bigint) as bundle_id,
        cast(null as bigint) as row_no,
        alone.bucket,
        case
            when alone.tag_team is not null then alone.tag_team
            when alone.bucket = 'commitment_unused' then 'platform'
            when alone.bucket = 'billed_not_seen' then 'unmapped'
            else coalesce(share.team, 'platform')
        end as payer_team,
        case
            when alone.bucket = 'commitment_unused' then 'commitment_unused'
            when alone.bucket = 'billed_not_seen' and alone.gpu_ns > 0 then 'resource_unknown'
            when alone.bucket = 'billed_not_seen' then 'gpu_count_unknown'
            when alone.tag_team is not null then 'shared_by_tag'
            when share.team is not null then 'shared_by_direct_cost'
            else 'shared_to_platform'
        end as method_id,
        alone.gpu_ns,
        coalesce(share.weight, cast(1 as decimal(38, 0))) as weight
    from alone
    left join int_team_weight as share
        on alone.bucket = 'non_gpu'
        and alone.tag_team is null
        and alone.month = share.month
)

select
    line_id,
    cast(
        row_number() over (
            partition by line_id
            order by bundle_id nulls first, row_no nulls first, payer_team
        ) as bigint
    ) as target_no,
    bundle_id,
    row_no,
    bucket,
    payer_team,
    method_id,
    gpu_ns,
    weight
from target
