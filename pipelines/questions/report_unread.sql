-- Records of bills that could not be read: they are in no sum. A reject has no month.
select count(*) as records
from reject
where source = 'focus_csv'
