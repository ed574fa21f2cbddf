/*
purpose: no two jobs hold one GPU at the same time
level: blocking
columns:
    gpu_uuid | VARCHAR | - | GPU
    hold_id | BIGINT | - | later hold
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job of the later hold
    start_ns | BIGINT | ns | its start, epoch
    earlier_end_ns | BIGINT | ns | end of a hold that began earlier, epoch
*/
with ordered as (
    select
        gpu_uuid,
        hold_id,
        cluster,
        job_id,
        start_ns,
        max(end_ns) over (
            partition by gpu_uuid
            order by start_ns, hold_id
            rows between unbounded preceding and 1 preceding
        ) as earlier_end_ns
    from int_hold
)

select
    gpu_uuid,
    hold_id,
    cluster,
    job_id,
    start_ns,
    earlier_end_ns
from ordered
where earlier_end_ns > start_ns
