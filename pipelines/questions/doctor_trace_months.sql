-- Traces that begin in a month that is not published: they are in no mart.
with there as (
    select distinct month
    from gpu_hour_state
),

trace as (
    select
        source_file,
        start_ns,
        cast(date_trunc('month', make_timestamp(start_ns // 1000)) as date) as month
    from trace_header
)

select
    trace.source_file as subject,
    concat('begins ', cast(make_timestamp(trace.start_ns // 1000) as varchar), ' UTC') as detail
from trace
left join there
    on trace.month = there.month
where there.month is null
order by trace.source_file
