/*
purpose: what one accounting export says of one incarnation of a job, times as epoch nanoseconds
grain: one row per incarnation and export
keys: cluster, job_id, submit_ns, source_file, source_row
columns:
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    submit_ns | BIGINT | ns | submit or requeue, epoch
    start_ns | BIGINT | ns | start, epoch, null where it never started
    end_ns | BIGINT | ns | end, epoch, null while it runs
    state | VARCHAR | - | state
    user_name | VARCHAR | - | user, perhaps hashed
    account | VARCHAR | - | scheduler account
    job_name | VARCHAR | - | job name
    gpu_count | BIGINT | GPUs | GPUs allocated over all nodes
    nodes | VARCHAR[] | - | nodes
    suspended_us | BIGINT | us | time suspended while the GPUs stayed held
    is_interactive | BOOLEAN | - | the allocation has an interactive step
    source_file | VARCHAR | - | file
    source_row | BIGINT | - | line of the file
*/
select
    cluster,
    job_id,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', submit) * 1000 as submit_ns,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', start) * 1000 as start_ns,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', "end") * 1000 as end_ns,
    state,
    user_name,
    account,
    job_name,
    gpu_count,
    nodes,
    suspended_us,
    is_interactive,
    source_file,
    source_row
from job_attempt
