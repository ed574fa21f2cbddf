-- GPUs of the inventory without a sample, and samples of GPUs that it does not know.
with gpu as (
    select
        gpu_uuid,
        max(node) as node,
        cast(coalesce(sum(expected_ns), 0) as bigint) as expected_ns,
        cast(sum(observed_ns) as bigint) as observed_ns
    from telemetry_coverage
    where field = 'engine_active_ratio'
    group by gpu_uuid
)

select
    gpu_uuid as subject,
    case
        when expected_ns = 0 then 'has samples, but is not in the inventory'
        else concat('is in the inventory (', coalesce(node, 'no node'), '), but has no sample')
    end as detail
from gpu
where expected_ns = 0 or observed_ns = 0
order by
    expected_ns > 0,
    node,
    subject
