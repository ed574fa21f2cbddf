-- Which teams have which buckets in which months.
select distinct
    month,
    team,
    bucket
from waste_team_month
order by month, team, bucket
