-- The rule behind each bucket of each team, and how many rows of how many files it rests on.
select
    team,
    bucket,
    rule_id,
    rule_version,
    source,
    source_rows,
    len(source_files) as source_file_count
from waste_evidence
where month = $month
order by
    team,
    bucket,
    source
