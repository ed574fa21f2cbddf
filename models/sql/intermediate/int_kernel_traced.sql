/*
purpose: traced kernels of each row of int_kernel_row by the month in which their step began
grain: one row per month, hold, bucket and row
keys: month, hold_id, bucket, row_no
columns:
    month | DATE | - | month
    hold_id | BIGINT | - | hold
    bucket | VARCHAR | - | compute, comm_wait, comm_exposed or copy_exposed
    row_no | BIGINT | - | row of int_kernel_row
    traced_calls | BIGINT | kernels | activities with time in the bucket
    traced_ns | BIGINT | ns | exclusive time in the traced steps
*/
with traced as (
    select
        hour_of.month,
        share.hold_id,
        share.bucket,
        work.module,
        work.op,
        work.family,
        count(distinct concat(cast(share.trace_no as varchar), ':', cast(share.event_no as varchar)))
            as traced_calls,
        cast(sum(share.share_ns) as bigint) as traced_ns
    from int_kernel_share as share
    inner join int_kernel_work as work
        on share.trace_no = work.trace_no
        and share.event_no = work.event_no
    inner join int_trace_step as step
        on share.window_id = step.window_id
    inner join run_hour as hour_of
        on step.start_ns // 3600000000000 = hour_of.hour_id
    group by
        hour_of.month,
        share.hold_id,
        share.bucket,
        work.module,
        work.op,
        work.family
)

select
    traced.month,
    traced.hold_id,
    traced.bucket,
    row_of.row_no,
    traced.traced_calls,
    traced.traced_ns
from traced
inner join int_kernel_row as row_of
    on traced.hold_id = row_of.hold_id
    and traced.bucket = row_of.bucket
    and coalesce(traced.module, '') = coalesce(row_of.module, '')
    and coalesce(traced.op, '') = coalesce(row_of.op, '')
    and traced.family = row_of.kernel_family
