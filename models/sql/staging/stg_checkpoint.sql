/*
purpose: checkpoints that were saved or restored; a record that two files repeat is one row
grain: one row per job, attempt, event, step and start
keys: cluster, job_id, attempt, event, step, start_ns
columns:
    cluster | VARCHAR | - | cluster, null where the record does not say
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt that saved or restored
    event | VARCHAR | - | save or restore
    step | BIGINT | - | last step whose result the checkpoint holds
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch: when a save is durable
    is_blocking | BOOLEAN | - | training waits for it
    source_file | VARCHAR | - | file
*/
select
    cluster,
    job_id,
    attempt,
    event,
    step,
    start_ns,
    max(end_ns) as end_ns,
    bool_or(blocking) as is_blocking,
    min(source_file) as source_file
from checkpoint
group by
    cluster,
    job_id,
    attempt,
    event,
    step,
    start_ns
