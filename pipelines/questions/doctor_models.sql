-- GPU models of the inventory.
select
    gpu_model as subject,
    concat(cast(count(distinct gpu_uuid) as varchar), ' GPUs') as detail
from gpu_inventory
where gpu_model is not null
group by gpu_model
order by gpu_model
