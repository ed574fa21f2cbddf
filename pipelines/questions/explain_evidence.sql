-- The rule, and how many rows of which files it rests on.
select
    rule_id,
    rule_version,
    proof,
    source,
    source_rows,
    source_files
from waste_evidence
where month = $month and team = $team and bucket = $bucket
order by source
