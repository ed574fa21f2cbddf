/*
purpose: a GPU that no job holds does not work. Where its samples show the engine at half or more
    for over a minute in all, work runs beside the scheduler, or the scheduler's export is wrong:
    its time zone, its cluster, or a `covers` that it does not keep
level: warning
columns:
    gpu_uuid | VARCHAR | - | GPU
    busy_s | BIGINT | s | unallocated time in which it worked
    first_ns | BIGINT | ns | when that begins, epoch
*/
select
    piece.gpu_uuid,
    cast(
        sum(least(piece.end_ns, sample.end_ns) - greatest(piece.start_ns, sample.start_ns)) as bigint
    ) // 1000000000 as busy_s,
    min(greatest(piece.start_ns, sample.start_ns)) as first_ns
from int_labelled as piece
inner join int_sample as sample
    on piece.gpu_uuid = sample.gpu_uuid
    and piece.hour_id = sample.start_ns // 3600000000000
    and sample.start_ns < piece.end_ns
    and sample.end_ns > piece.start_ns
where
    piece.bucket = 'unallocated'
    and sample.engine_ppm >= 500000
group by piece.gpu_uuid
having
    cast(
        sum(least(piece.end_ns, sample.end_ns) - greatest(piece.start_ns, sample.start_ns)) as bigint
    ) > 60000000000
