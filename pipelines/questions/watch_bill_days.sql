-- Charges by the day on which they begin.
select
    cast(charge_period_start as date) as day,
    count(*) as row_count
from bill_line
group by day
order by day
