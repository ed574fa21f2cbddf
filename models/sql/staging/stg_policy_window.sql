/*
purpose: dated exceptions that a named owner has approved
grain: one row per exception
keys: kind, owner, start_ns, source_row
columns:
    kind | VARCHAR | - | maintenance, reserve, exempt_idle or dispute
    owner | VARCHAR | - | who approved it
    cluster | VARCHAR | - | null is every cluster
    node | VARCHAR | - | null is every node
    account | VARCHAR | - | null is every account
    job_id | VARCHAR | - | null is every job
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    source_row | BIGINT | - | record of the configuration
*/
select
    kind,
    owner,
    cluster,
    node,
    account,
    job_id,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', start) * 1000 as start_ns,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', "end") * 1000 as end_ns,
    source_row
from policy_window
