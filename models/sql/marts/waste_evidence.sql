/*
purpose: what stands behind each number of waste_team_month: the rule, and the rows and files of
    each source that the rule rests on.
    Rows are bill lines, attempts, inventory intervals, node events, samples, steps, checkpoint
    records or GPU activities of the GPUs and hours in the bucket.
grain: one row per month, team, bucket and source
keys: month, team, bucket, source
columns:
    month | DATE | - | month
    team | VARCHAR | - | team that pays
    bucket | VARCHAR | - | bucket
    rule_id | VARCHAR | - | rule of the waste model
    rule_version | BIGINT | - | version of the rule
    proof | VARCHAR | - | the rule in words
    source | VARCHAR | - | bill, scheduler, inventory, node_event, telemetry, steps, checkpoints, traces or collectives
    source_rows | BIGINT | rows | rows of the source
    source_files | VARCHAR[] | - | its files
*/
with per_file as (
    select
        month,
        team,
        bucket,
        source,
        source_file,
        cast(sum(row_count) as bigint) as row_count
    from waste_evidence_item
    group by
        month,
        team,
        bucket,
        source,
        source_file
)

select
    per_file.month,
    per_file.team,
    per_file.bucket,
    rule.rule_id,
    rule.rule_version,
    rule.proof,
    per_file.source,
    cast(sum(per_file.row_count) as bigint) as source_rows,
    list_sort(array_agg(per_file.source_file) filter (where per_file.source_file is not null))
        as source_files
from per_file
inner join waste_rule as rule
    on per_file.bucket = rule.bucket
group by
    per_file.month,
    per_file.team,
    per_file.bucket,
    rule.rule_id,
    rule.rule_version,
    rule.proof,
    per_file.source
