/*
purpose: names that map to teams, in time; of rows that overlap the later valid_from wins downstream
grain: one row per kind, key and start of validity
keys: kind, key, start_ns
columns:
    kind | VARCHAR | - | account, bill_tag, namespace or label
    key | VARCHAR | - | the name as the source writes it
    team | VARCHAR | - | team
    start_ns | BIGINT | ns | start of validity, epoch
    end_ns | BIGINT | ns | end of validity, epoch, exclusive, null is open
*/
select
    kind,
    key,
    max(team) as team,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', valid_from) * 1000 as start_ns,
    max(date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', valid_to) * 1000) as end_ns
from team_map
group by
    kind,
    key,
    valid_from
