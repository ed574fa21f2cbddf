/*
purpose: whose trace each file is.
    The job by the file's metadata, else by its path, else by host and time where exactly one attempt
    fits and the scheduler was read for that time: else another may have been there. The attempt by
    what names it, else by the greatest overlap in time. The rank by metadata, else by path, else the
    only one. A trace that fits no attempt stays, as unmatched.
grain: one row per trace
keys: trace_no
columns:
    trace_no | BIGINT | - | number of the trace in this run, from 1
    source_file | VARCHAR | - | file
    start_ns | BIGINT | ns | start of the earliest event, epoch
    end_ns | BIGINT | ns | end of the latest event, epoch
    cluster | VARCHAR | - | cluster of the attempt, null where unmatched
    job_id | VARCHAR | - | job, null where unmatched
    attempt | BIGINT | - | attempt, null where unmatched
    rank | BIGINT | - | rank, null where nothing tells
    world_size | BIGINT | ranks | ranks as the process knows them
    found_by | VARCHAR | - | metadata, path, host_time, ambiguous or unmatched
    is_job_clash | BOOLEAN | - | metadata and path name two jobs, attempts or ranks
    is_host_clash | BOOLEAN | - | host of the file and node of the attempt have two names
    is_clock_ok | BOOLEAN | - | lies wholly inside the attempt, null where unmatched
    is_truncated | BOOLEAN | - | the file ends inside its events, or says that some are missing
    is_holed | BOOLEAN | - | events that could not be read may have been over 2 % of its GPU's work
*/
with named as (
    select
        *,
        coalesce(meta_job_id, path_job_id) as job_id,
        coalesce(meta_attempt, path_attempt) as attempt,
        coalesce(meta_rank, path_rank) as rank
    from stg_trace_header
),

-- By the scheduler's nodes: which of a node's GPUs a job held may be unknown.
node_of as (
    select distinct
        cluster,
        job_id,
        attempt,
        unnest(nodes) as node
    from int_attempt
    where coalesce(gpu_count, 1) > 0
),

scheduled as (
    select
        trace.source_file
    from named as trace
    inner join stg_source_coverage as covered
        on covered.source = 'scheduler'
        and (covered.cluster is null or trace.cluster is null or covered.cluster = trace.cluster)
        and (covered.node is null or covered.node = trace.host_name)
        and covered.start_ns < trace.end_ns
        and covered.end_ns > trace.start_ns
    group by trace.source_file
    having
        bool_or(
            not covered.is_cut
            and covered.start_ns <= trace.start_ns
            and covered.end_ns >= trace.end_ns
        )
        and not bool_or(covered.is_cut)
),

fit as (
    select
        trace.source_file,
        job.cluster,
        job.job_id,
        job.attempt,
        case when trace.meta_job_id is not null then 'metadata' else 'path' end as found_by,
        least(trace.end_ns, job.end_ns) - greatest(trace.start_ns, job.start_ns) as shared_ns
    from named as trace
    inner join int_attempt as job
        on trace.job_id = job.job_id
        and (trace.cluster is null or trace.cluster = job.cluster)
        and (
            trace.attempt = job.attempt
            or (
                trace.attempt is null
                and trace.start_ns < job.end_ns
                and trace.end_ns > job.start_ns
            )
        )
    union all
    select
        trace.source_file,
        job.cluster,
        job.job_id,
        job.attempt,
        'host_time' as found_by,
        least(trace.end_ns, job.end_ns) - greatest(trace.start_ns, job.start_ns) as shared_ns
    from named as trace
    inner join scheduled
        on trace.source_file = scheduled.source_file
    inner join node_of
        on trace.job_id is null
        and trace.host_name = node_of.node
        and (trace.cluster is null or trace.cluster = node_of.cluster)
    inner join int_attempt as job
        on node_of.cluster = job.cluster
        and node_of.job_id = job.job_id
        and node_of.attempt = job.attempt
        and trace.start_ns >= job.start_ns
        and trace.end_ns <= job.end_ns
),

ordered as (
    select
        *,
        count(*) over (partition by source_file) as fit_count,
        row_number() over (
            partition by source_file
            order by shared_ns desc, cluster, job_id, attempt
        ) as fit_no
    from fit
),

chosen as (
    select *
    from ordered
    where fit_no = 1 and (found_by <> 'host_time' or fit_count = 1)
),

gpus as (
    select
        cluster,
        job_id,
        attempt,
        max(case when rank_count = gpu_count then rank_count end) as rank_count
    from int_hold
    group by
        cluster,
        job_id,
        attempt
),

on_host as (
    select distinct
        trace.source_file
    from named as trace
    inner join chosen
        on trace.source_file = chosen.source_file
    inner join node_of
        on chosen.cluster = node_of.cluster
        and chosen.job_id = node_of.job_id
        and chosen.attempt = node_of.attempt
        and trace.host_name = node_of.node
)

select
    cast(row_number() over (order by trace.source_file) as bigint) as trace_no,
    trace.source_file,
    trace.start_ns,
    trace.end_ns,
    chosen.cluster,
    chosen.job_id,
    chosen.attempt,
    coalesce(trace.rank, case when gpus.rank_count = 1 then 0 end) as rank,
    trace.world_size,
    case
        when chosen.found_by is not null then chosen.found_by
        when several.source_file is not null then 'ambiguous'
        else 'unmatched'
    end as found_by,
    coalesce(trace.meta_job_id <> trace.path_job_id, false)
    or coalesce(trace.meta_attempt <> trace.path_attempt, false)
    or coalesce(trace.meta_rank <> trace.path_rank, false) as is_job_clash,
    chosen.job_id is not null and trace.host_name is not null and on_host.source_file is null
        as is_host_clash,
    trace.start_ns >= job.start_ns and trace.end_ns <= job.end_ns as is_clock_ok,
    trace.is_truncated,
    trace.reject_count * 50 > trace.gpu_count as is_holed
from named as trace
left join chosen
    on trace.source_file = chosen.source_file
left join (select distinct source_file from ordered) as several
    on trace.source_file = several.source_file
left join gpus
    on chosen.cluster = gpus.cluster
    and chosen.job_id = gpus.job_id
    and chosen.attempt = gpus.attempt
left join int_attempt as job
    on chosen.cluster = job.cluster
    and chosen.job_id = job.job_id
    and chosen.attempt = job.attempt
left join on_host
    on trace.source_file = on_host.source_file
