-- Instance types that give no GPU count of their own: only the seed can give one.
select
    instance_type as subject,
    concat(
        cast(count(*) as varchar), ' lines, ',
        cast(cast(sum(effective_usd) as decimal(38, 2)) as varchar), ' USD'
    ) as detail
from bill_line
where instance_type is not null and sku_gpu_count is null
group by instance_type
order by
    sum(effective_usd) desc,
    subject
