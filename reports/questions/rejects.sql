-- Records that could not be read, by file, with the first reason. A reject has no month.
select
    source,
    file,
    count(*) as record_count,
    min_by(position, position) as first_position,
    min_by(reason, position) as first_reason
from reject
group by
    source,
    file
order by
    record_count desc,
    source,
    file
