/*
purpose: for which time each source was read, and what rejects cut out of it
grain: one row per stretch
keys: source, source_file, source_row, cluster, node, start_ns, is_cut, job_id, attempt
columns:
    source | VARCHAR | - | scheduler, node_event, telemetry, steps, checkpoints or bill
    cluster | VARCHAR | - | cluster, null is every cluster
    node | VARCHAR | - | node, null is every node
    job_id | VARCHAR | - | job, null is every job
    attempt | BIGINT | - | attempt, null is every attempt
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    is_cut | BOOLEAN | - | a reject makes the source blind here
    source_file | VARCHAR | - | file
    source_row | BIGINT | - | line of the file
*/
select distinct
    source,
    cluster,
    node,
    job_id,
    attempt,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', start) * 1000 as start_ns,
    date_diff('microsecond', timestamptz '1970-01-01 00:00:00+00', "end") * 1000 as end_ns,
    is_cut,
    source_file,
    source_row
from source_coverage
