-- Records of bills that could not be read: they are in no sum. A reject has no month.
select count(*) as record_count
from reject
where source = 'focus_csv'
order by record_count
