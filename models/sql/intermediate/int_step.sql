/*
purpose: logged steps on the GPU where they ran, clipped to the hold.
    A log with ranks speaks for the GPU of that rank; one without speaks for the whole attempt: each
    of its GPUs gets an equal part of its tokens and FLOPs.
    A log without an attempt belongs to the attempt in which the step began.
grain: one row per hold and step interval
keys: hold_id, rank, step, start_ns
columns:
    hold_id | BIGINT | - | hold
    gpu_uuid | VARCHAR | - | GPU
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | raw job id
    attempt | BIGINT | - | attempt
    rank | BIGINT | - | rank as the log says, null speaks for every GPU
    step | BIGINT | - | number of the step
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    tokens | BIGINT | tokens | tokens of this GPU
    model_flops | DECIMAL(38,0) | FLOP | model FLOPs of this GPU
    dtype | VARCHAR | - | number format
    source_file | VARCHAR | - | file
*/
with step_of as (
    select
        job.cluster,
        job.attempt,
        step.job_id,
        step.rank,
        step.step,
        step.start_ns,
        step.end_ns,
        step.tokens,
        step.model_flops,
        step.dtype,
        step.source_file
    from stg_train_step as step
    inner join int_attempt as job
        on step.job_id = job.job_id
        and (step.cluster is null or step.cluster = job.cluster)
        and (
            step.attempt = job.attempt
            or (
                step.attempt is null
                and step.start_ns >= job.start_ns
                and step.start_ns < job.end_ns
            )
        )
)

select
    hold.hold_id,
    hold.gpu_uuid,
    hold.cluster,
    hold.job_id,
    hold.attempt,
    step.rank,
    step.step,
    greatest(step.start_ns, hold.start_ns) as start_ns,
    least(step.end_ns, hold.end_ns) as end_ns,
    case when step.rank is null then step.tokens // hold.rank_count else step.tokens end as tokens,
    case
        when step.rank is null
            then cast(cast(step.model_flops as hugeint) // hold.rank_count as decimal(38, 0))
        else step.model_flops
    end as model_flops,
    step.dtype,
    step.source_file
from step_of as step
inner join int_hold as hold
    on step.cluster = hold.cluster
    and step.job_id = hold.job_id
    and step.attempt = hold.attempt
    and (step.rank is null or step.rank = hold.rank)
    and step.start_ns < hold.end_ns
    and step.end_ns > hold.start_ns
