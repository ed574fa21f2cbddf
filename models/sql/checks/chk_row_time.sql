/*
purpose: the lines of a bundle fill each of its rows exactly: time holds by line and by GPU and hour
level: blocking
columns:
    bundle_id | BIGINT | - | bundle
    row_no | BIGINT | - | row
    gpu_ns | BIGINT | ns | GPU-time of the row
    lines_gpu_ns | BIGINT | ns | GPU-time that its lines bring
*/
with brought as (
    select
        bundle_id,
        row_no,
        cast(sum(gpu_ns) as bigint) as lines_gpu_ns
    from int_line_time
    group by
        bundle_id,
        row_no
)

select
    state.bundle_id,
    state.row_no,
    state.gpu_ns,
    brought.lines_gpu_ns
from int_state as state
left join brought
    on state.bundle_id = brought.bundle_id
    and state.row_no = brought.row_no
where state.gpu_ns <> coalesce(brought.lines_gpu_ns, 0)
