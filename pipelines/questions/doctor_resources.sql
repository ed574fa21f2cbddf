-- Resources whose GPUs the bill pays and no inventory row names.
select
    part.resource_id as subject,
    concat(
        cast(cast(sum(part.gpu_ns) // 3600000000000 as bigint) as varchar), ' GPU-h, ',
        cast(cast(sum(part.effective_usd) as decimal(38, 2)) as varchar), ' USD'
    ) as detail
from allocation as part
left join gpu_inventory as place
    on part.resource_id = place.resource_id
where
    part.bundle_id is not null
    and place.resource_id is null
group by part.resource_id
order by
    sum(part.effective_usd) desc,
    part.resource_id
