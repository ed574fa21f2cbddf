-- Lines that pay GPUs and cannot be placed on one: their dollars stand in billed_not_seen.
select
    concat(
        coalesce(line.instance_type, 'no instance type'), ' on ',
        coalesce(line.resource_id, 'no resource')
    ) as subject,
    concat(
        cast(count(distinct line.line_id) as varchar), ' lines, ',
        cast(cast(sum(part.effective_usd) as decimal(38, 2)) as varchar), ' USD'
    ) as detail
from allocation as part
inner join bill_line as line
    on part.line_id = line.line_id
where part.method_id in ('gpu_count_unknown', 'resource_unknown')
group by
    line.instance_type,
    line.resource_id
order by
    sum(part.effective_usd) desc,
    subject
