-- For how much of the time each counter was read.
select
    cluster,
    field,
    count(distinct gpu_uuid) as gpu_count,
    cast(sum(expected_ns) as decimal(38, 0)) as expected_ns,
    cast(sum(observed_ns) as decimal(38, 0)) as observed_ns,
    cast(sum(invalid_ns) as decimal(38, 0)) as invalid_ns,
    cast(sum(observed_ns) as double) / nullif(cast(sum(expected_ns) as double), 0)
        as observed_ratio
from telemetry_coverage
where month = $month
group by
    cluster,
    field
order by
    cluster,
    field
