-- Records that could not be read, by file, with the first reason.
select
    file as subject,
    concat(
        cast(count(*) as varchar), ' records, the first at ', min_by(position, position), ': ',
        min_by(reason, position)
    ) as detail
from reject
group by file
order by
    count(*) desc,
    subject
