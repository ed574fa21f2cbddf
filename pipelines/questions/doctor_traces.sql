-- What is odd about trace files: a row per finding and file, the worst first.
with said as (
    select
        source_file,
        max(coalesce(meta_job_id, path_job_id)) as named_job,
        max(host_name) as host_name
    from trace_header
    group by source_file
),

file as (
    select
        trace.*,
        concat(trace.cluster, '/', trace.job_id, ' attempt ', cast(trace.attempt as varchar)) as job,
        'names ' || coalesce('job ' || said.named_job, 'no job') as name,
        coalesce('host ' || said.host_name, 'no host') as host,
        concat(
            'from ', cast(make_timestamp(trace.start_ns // 1000) as varchar), ' to ',
            cast(make_timestamp(trace.end_ns // 1000) as varchar), ' UTC'
        ) as span,
        trace.gpu_count - trace.graph_count as plain_count
    from trace_file as trace
    inner join said
        on trace.source_file = said.source_file
),

-- Set aside: another trace tells the same time of the same rank.
twice as (
    select
        aside.source_file,
        min(taken.source_file) as taken_file
    from file as aside
    inner join file as taken
        on aside.cluster = taken.cluster
        and aside.job_id = taken.job_id
        and aside.attempt = taken.attempt
        and aside.rank = taken.rank
        and aside.start_ns < taken.end_ns
        and aside.end_ns > taken.start_ns
    where aside.gpu_uuid is null and taken.gpu_uuid is not null
    group by aside.source_file
),

found as (
    select
        'no_job' as finding,
        source_file,
        concat(
            case
                when found_by = 'ambiguous' then 'several attempts fit: '
                else 'no attempt fits: '
            end,
            name, ', ', host, ', ', span
        ) as detail,
        gpu_count as weight
    from file
    where job_id is null
    union all
    select
        'no_gpu' as finding,
        source_file,
        concat(
            job, ', ',
            coalesce('rank ' || cast(rank as varchar) || ', which has no GPU there', 'no rank')
        ) as detail,
        gpu_count as weight
    from file
    where
        job_id is not null
        and gpu_uuid is null
        and coalesce(is_clock_ok, true)
        and source_file not in (select source_file from twice)
    union all
    select
        'twice' as finding,
        source_file,
        concat('taken instead: ', taken_file) as detail,
        0 as weight
    from twice
    union all
    select
        'two_names' as finding,
        source_file,
        concat('taken for ', job, ' rank ' || cast(rank as varchar)) as detail,
        gpu_count as weight
    from file
    where is_job_clash
    union all
    select
        'clock' as finding,
        source_file,
        concat(job, ', ', span) as detail,
        gpu_count as weight
    from file
    where not is_clock_ok
    union all
    select
        'cut' as finding,
        source_file,
        concat(cast(event_count as varchar), ' events are kept') as detail,
        event_count as weight
    from file
    where is_truncated
    union all
    select
        'lost' as finding,
        source_file,
        concat(
            job, ', ', cast(cast(ceil(launch_lost_ratio * 100) as bigint) as varchar),
            ' % of its launches'
        ) as detail,
        gpu_count as weight
    from file
    where launch_lost_ratio > 0.02
    union all
    select
        'host' as finding,
        source_file,
        concat(host, ', ', job, ' by ', found_by) as detail,
        gpu_count as weight
    from file
    where is_host_clash
    union all
    select
        'no_steps' as finding,
        source_file,
        concat(job, ', ', cast(gpu_count as varchar), ' GPU activities') as detail,
        gpu_count as weight
    from file
    where gpu_uuid is not null and step_count = 0 and not is_truncated
    union all
    select
        'no_op' as finding,
        source_file,
        concat(
            cast(cast(round(plain_count - op_linked_ratio * gpu_count) as bigint) as varchar),
            ' of ', cast(plain_count as varchar), ' GPU activities outside graphs'
        ) as detail,
        cast(round(plain_count - op_linked_ratio * gpu_count) as bigint) as weight
    from file
    where
        plain_count > 0
        and op_linked_ratio * gpu_count * 10 < plain_count * 9
    union all
    select
        'no_module' as finding,
        source_file,
        concat(job, ', ', cast(gpu_count as varchar), ' GPU activities') as detail,
        gpu_count as weight
    from file
    where op_linked_ratio > 0 and module_linked_ratio = 0
    union all
    select
        'collectives' as finding,
        source_file,
        concat(
            job, ', ', cast(
                cast(round((1 - collective_matched_ratio) * collective_count) as bigint) as varchar
            ),
            ' of ', cast(collective_count as varchar), ' collectives'
        ) as detail,
        cast(round((1 - collective_matched_ratio) * collective_count) as bigint) as weight
    from file
    where collective_matched_ratio < 1
    union all
    select
        'copies' as finding,
        source_file,
        concat('in ', cast(copy_count as varchar), ' files') as detail,
        copy_count as weight
    from file
    where copy_count > 1
)

select
    finding,
    source_file as subject,
    detail
from found
order by
    weight desc,
    source_file
