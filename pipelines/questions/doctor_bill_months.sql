-- The months that bill lines begin in.
select distinct cast(date_trunc('month', charge_period_start) as date) as month
from bill_line
order by month
