/*
purpose: trace files, each trace once: a copy of a file under another name is the same trace,
    unless its path says that it is another job's: whose it is comes first
grain: one row per trace
keys: source_file
columns:
    source_file | VARCHAR | - | file
    start_ns | BIGINT | ns | start of the earliest event, epoch
    end_ns | BIGINT | ns | end of the latest event, epoch
    cluster | VARCHAR | - | cluster, null where the configuration does not say
    meta_job_id | VARCHAR | - | job by the file's metadata
    meta_attempt | BIGINT | - | attempt by the metadata
    meta_rank | BIGINT | - | rank by the metadata
    path_job_id | VARCHAR | - | job by the file's path
    path_attempt | BIGINT | - | attempt by the path
    path_rank | BIGINT | - | rank by the path
    host_name | VARCHAR | - | host
    pid | BIGINT | - | process
    world_size | BIGINT | ranks | ranks of the job as the process knows it
    device_name | VARCHAR | - | model of the first GPU
    event_count | BIGINT | events | events of the file
    gpu_count | BIGINT | events | activities of GPUs
    op_count | BIGINT | events | ops
    step_count | BIGINT | steps | steps of the profiler
    reject_count | BIGINT | events | events that could not be read
    is_truncated | BOOLEAN | - | the file ends inside its events, or says that some are missing
    copy_count | BIGINT | files | files that hold this trace
*/
with numbered as (
    select
        *,
        row_number() over (
            partition by
                trace_id, start_ns, end_ns, pid, meta_rank, path_job_id, path_attempt, path_rank,
                event_count, gpu_count
            order by source_file
        ) as copy_no,
        count(*) over (
            partition by
                trace_id, start_ns, end_ns, pid, meta_rank, path_job_id, path_attempt, path_rank,
                event_count, gpu_count
        ) as copy_count
    from trace_header
)

select
    source_file,
    start_ns,
    end_ns,
    cluster,
    meta_job_id,
    meta_attempt,
    meta_rank,
    path_job_id,
    path_attempt,
    path_rank,
    host_name,
    pid,
    world_size,
    device_name,
    event_count,
    gpu_count,
    op_count,
    step_count,
    reject_count,
    is_truncated,
    copy_count
from numbered
where copy_no = 1
