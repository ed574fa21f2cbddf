/*
purpose: billed GPU-time of each line on the rows of its bundle, exact in both margins.
    In proportion first, rounded down; what is left over by line and by row is matched in order,
    so each line sums to what it bills and each row to its own time.
grain: one row per bundle, GPU line and row that gets time of it
keys: bundle_id, line_id, row_no
columns:
    bundle_id | BIGINT | - | bundle
    line_id | VARCHAR | - | bill line
    row_no | BIGINT | - | row of int_state
    gpu_ns | BIGINT | ns | time of the row that this line bills
checks:
    not_negative | blocking | gpu_ns >= 0
*/
with cell as (
    select
        line.bundle_id,
        line.line_id,
        line.billed_gpu_ns as line_ns,
        state.row_no,
        state.gpu_ns as row_ns,
        cast(
            cast(line.billed_gpu_ns as hugeint) * cast(state.gpu_ns as hugeint)
            // cast(bundle.billed_gpu_ns as hugeint) as bigint
        ) as base_ns
    from int_bundle_line as line
    inner join int_bundle as bundle
        on line.bundle_id = bundle.bundle_id
    inner join int_state as state
        on line.bundle_id = state.bundle_id
    where
        line.billed_gpu_ns > 0
        and bundle.billed_gpu_ns > 0
),

line_left as (
    select
        bundle_id,
        line_id,
        max(line_ns) - cast(sum(base_ns) as bigint) as left_ns
    from cell
    group by
        bundle_id,
        line_id
),

row_left as (
    select
        bundle_id,
        row_no,
        max(row_ns) - cast(sum(base_ns) as bigint) as left_ns
    from cell
    group by
        bundle_id,
        row_no
),

line_span as (
    select
        bundle_id,
        line_id,
        left_ns,
        cast(
            sum(left_ns) over (partition by bundle_id order by line_id rows unbounded preceding)
            as bigint
        ) as until_ns
    from line_left
),

row_span as (
    select
        bundle_id,
        row_no,
        left_ns,
        cast(
            sum(left_ns) over (partition by bundle_id order by row_no rows unbounded preceding)
            as bigint
        ) as until_ns
    from row_left
)

select
    cell.bundle_id,
    cell.line_id,
    cell.row_no,
    cell.base_ns
    + greatest(
        least(line_span.until_ns, row_span.until_ns)
        - greatest(line_span.until_ns - line_span.left_ns, row_span.until_ns - row_span.left_ns),
        0
    ) as gpu_ns
from cell
inner join line_span
    on cell.bundle_id = line_span.bundle_id
    and cell.line_id = line_span.line_id
inner join row_span
    on cell.bundle_id = row_span.bundle_id
    and cell.row_no = row_span.row_no
