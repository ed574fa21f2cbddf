-- For which time each file was read, and how often a bad record made it blind.
select
    source_file,
    min(case when not is_cut then start end) as first_time,
    max(case when not is_cut then "end" end) as last_time,
    count(*) filter (where is_cut) as cut_count
from source_coverage
group by source_file
order by source_file
