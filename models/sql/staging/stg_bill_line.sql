/*
purpose: bill lines with their GPU count and billed GPU-time.
    billed_gpu_ns = round(quantity_h x GPUs x 3.6e12), not the length of the charge period.
    The GPU count is the line's own, else the instance type's of the seed; unknown stays null.
    Only lines that lie in the time whose bill the run decides. A line of more than 2.5 million
    GPU-hours is no usage of one resource: its time counts as unknown, its dollars stand.
grain: one row per bill line
keys: line_id
columns:
    line_id | VARCHAR | - | bill line
    issuer | VARCHAR | - | InvoiceIssuerName
    invoice_id | VARCHAR | - | InvoiceId
    charge_category | VARCHAR | - | Usage, Purchase, Tax, Credit or Adjustment
    start_ns | BIGINT | ns | start of the charge period, epoch
    end_ns | BIGINT | ns | end of the charge period, epoch, exclusive
    charge_period_start | TIMESTAMP WITH TIME ZONE | UTC | start of the charge period
    month | DATE | - | month of the start of the charge period
    resource_id | VARCHAR | - | resource that the line pays
    is_unused | BOOLEAN | - | the line pays a commitment that nothing used
    bill_team | VARCHAR | - | value of the team's tag
    gpu_count | DECIMAL(18,6) | GPUs | GPUs per instance, null where unknown
    pays_gpu | BOOLEAN | - | usage of a known number of GPUs for a known time
    billed_gpu_ns | BIGINT | ns | billed GPU-time; 0 where the count or the quantity is unknown
    billed_usd | DECIMAL(38,12) | USD | BilledCost
    effective_usd | DECIMAL(38,12) | USD | EffectiveCost
    list_usd | DECIMAL(38,12) | USD | ListCost, null where unknown
    source_file | VARCHAR | - | file
checks:
    billed_time_not_negative | blocking | billed_gpu_ns >= 0
    charge_period_in_order | blocking | start_ns < end_ns
*/
with counted as (
    select
        line.line_id,
        line.issuer,
        line.invoice_id,
        line.charge_category,
        date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', line.charge_period_start) * 1000 as start_ns,
        date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', line.charge_period_end) * 1000 as end_ns,
        line.charge_period_start,
        cast(date_trunc('month', line.charge_period_start) as date) as month,
        line.resource_id,
        line.charge_category = 'Usage'
            and coalesce(line.commitment_discount_status, '') = 'Unused' as is_unused,
        line.bill_team,
        coalesce(line.sku_gpu_count, type.gpu_count) as gpu_count,
        line.quantity_hours,
        line.billed_usd,
        line.effective_usd,
        line.list_usd,
        line.source_file
    from bill_line as line
    left join instance_type as type
        on line.instance_type = type.instance_type
),

timed as (
    select
        *,
        case
            when
                charge_category = 'Usage'
                and gpu_count > 0
                and quantity_hours > 0
                and quantity_hours <= 2500000
                and gpu_count <= 1000000
                and cast(quantity_hours as double) * cast(gpu_count as double) <= 2500000
                then cast(round(quantity_hours * gpu_count * 3600000000000, 0) as bigint)
            else 0
        end as billed_gpu_ns
    from counted
)

select
    line_id,
    issuer,
    invoice_id,
    charge_category,
    start_ns,
    end_ns,
    charge_period_start,
    month,
    resource_id,
    is_unused,
    bill_team,
    gpu_count,
    billed_gpu_ns > 0 and not is_unused and resource_id is not null as pays_gpu,
    billed_gpu_ns,
    billed_usd,
    effective_usd,
    list_usd,
    source_file
from timed
cross join run_setting as setting
where
    start_ns >= setting.billed_start_ns
    and end_ns <= setting.billed_end_ns
