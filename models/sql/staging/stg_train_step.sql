/*
purpose: steps that a job logged itself; a step that two files repeat is one row
grain: one row per job, attempt, rank and step interval
keys: cluster, job_id, attempt, rank, step, start_ns
columns:
    cluster | VARCHAR | - | cluster, null where the log does not say
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt as the log says, null: found by time
    rank | BIGINT | - | rank, null speaks for the whole job
    step | BIGINT | - | number of the step
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    tokens | BIGINT | tokens | tokens of this rank
    model_flops | DECIMAL(38,0) | FLOP | model FLOPs of this rank
    dtype | VARCHAR | - | number format, null where the log does not say
    source_file | VARCHAR | - | file
*/
select
    cluster,
    job_id,
    attempt,
    rank,
    step,
    start_ns,
    max(end_ns) as end_ns,
    max(tokens) as tokens,
    max(model_flops) as model_flops,
    max(dtype) as dtype,
    min(source_file) as source_file
from train_step
group by
    cluster,
    job_id,
    attempt,
    rank,
    step,
    start_ns
