/*
purpose: how many rows of which files speak for a hold in an hour: the evidence behind a number
grain: one row per hold, hour, source and file
keys: hold_id, hour_id, source, source_file
columns:
    hold_id | BIGINT | - | hold
    hour_id | BIGINT | h | hours since the epoch
    source | VARCHAR | - | telemetry, steps, checkpoints, traces or collectives
    source_file | VARCHAR | - | file
    row_count | BIGINT | rows | rows of the file
*/
with sample_hour as (
    select
        gpu_uuid,
        source_file,
        (end_ns - 1) // 3600000000000 as hour_id,
        start_ns,
        end_ns
    from int_sample
)

select
    hold.hold_id,
    hold.hour_id,
    'telemetry' as source,
    sample.source_file,
    count(*) as row_count
from int_hold_hour as hold
inner join sample_hour as sample
    on hold.gpu_uuid = sample.gpu_uuid
    and hold.hour_id = sample.hour_id
    and sample.start_ns < hold.end_ns
    and sample.end_ns > hold.start_ns
group by
    hold.hold_id,
    hold.hour_id,
    sample.source_file
union all
select
    hold_id,
    start_ns // 3600000000000 as hour_id,
    'steps' as source,
    source_file,
    count(*) as row_count
from int_step
group by
    hold_id,
    start_ns // 3600000000000,
    source_file
union all
select
    hold.hold_id,
    saved.start_ns // 3600000000000 as hour_id,
    'checkpoints' as source,
    saved.source_file,
    count(*) as row_count
from stg_checkpoint as saved
inner join int_hold as hold
    on saved.job_id = hold.job_id
    and saved.attempt = hold.attempt
    and (saved.cluster is null or saved.cluster = hold.cluster)
    and saved.start_ns >= hold.start_ns
    and saved.start_ns < hold.end_ns
group by
    hold.hold_id,
    saved.start_ns // 3600000000000,
    saved.source_file
union all
select
    work.hold_id,
    work.start_ns // 3600000000000 as hour_id,
    'traces' as source,
    trace.source_file,
    count(*) as row_count
from int_gpu_work as work
inner join int_trace as trace
    on work.trace_no = trace.trace_no
group by
    work.hold_id,
    work.start_ns // 3600000000000,
    trace.source_file
union all
select
    hold.hold_id,
    kept.created_ns // 3600000000000 as hour_id,
    'collectives' as source,
    kept.source_file,
    count(*) as row_count
from stg_collective as kept
inner join int_hold as hold
    on kept.job_id = hold.job_id
    and kept.rank = hold.rank
    and (kept.attempt is null or kept.attempt = hold.attempt)
    and (kept.cluster is null or kept.cluster = hold.cluster)
    and kept.created_ns >= hold.start_ns
    and kept.created_ns < hold.end_ns
group by
    hold.hold_id,
    kept.created_ns // 3600000000000,
    kept.source_file
