-- The rules that decided the month's buckets, in words, with the sources that they rest on.
select
    bucket,
    rule_id,
    rule_version,
    proof,
    string_agg(distinct source, ', ' order by source) as sources
from waste_evidence
where month = $month
group by
    bucket,
    rule_id,
    rule_version,
    proof
order by
    rule_id,
    bucket
