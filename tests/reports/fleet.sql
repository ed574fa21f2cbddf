-- Base facts first. Each view has the name of a published table and becomes it.
create table team as select i as team_no, 'team-' || i as team from range($teams) as t(i);
create table job as
select
    i as job_no, 'team-' || (i % $teams) as team, 'big' as cluster, cast(i as varchar) as job_id,
    0 as attempt, 'train_model_' || (i % 97) as job_name, 'user' || (i % 400) as user_name,
    hash(i) % 20 = 0 as traced, 1000 + hash(i) % 1000000 as weight
from range($jobs) as t(i);
create table part as
select *, hash(team_no, bucket) % 100000000 as cents
from team
cross join (values
    ('compute', 'useful', 'own_code', 'E3'), ('comm_wait', 'step', 'straggler', 'E3'),
    ('comm_exposed', 'step', 'own_code', 'E3'), ('copy_exposed', 'step', 'own_code', 'E3'),
    ('data_stall', 'step', 'own_code', 'E3'), ('launch_gap', 'step', 'own_code', 'E3'),
    ('gap_unknown', 'step', 'unknown', 'E3'), ('busy_unsplit', 'unknown', 'unknown', 'E2'),
    ('startup', 'overhead', 'own_code', 'E1'), ('between_steps', 'overhead', 'own_code', 'E2'),
    ('recovery_checkpoint', 'overhead', 'own_code', 'E1'),
    ('non_gpu', 'overhead', 'platform', 'E0'), ('lost_work', 'strict', 'platform', 'E1'),
    ('idle_held', 'strict', 'own_code', 'E2'), ('not_observed', 'unknown', 'telemetry', 'E1')
) as b(bucket, waste_class, cause, evidence_grade);
create view waste_team_month as
select
    date '2026-11-01' as month, team, bucket, waste_class, cause,
    cast(cents as decimal(38, 0)) * 3333333333 as gpu_ns,
    cast(cents as decimal(38, 12)) as gpu_hours, cast(cents / 2 as decimal(38, 12)) as low_gpu_hours,
    cast(cents * 2 as decimal(38, 12)) as high_gpu_hours,
    cast(cents as decimal(38, 12)) / 300 as billed_usd,
    cast(cents as decimal(38, 12)) / 300 as effective_usd, 0.01 as share_of_bill_ratio,
    cast(1000000 as decimal(38, 12)) as invoice_effective_usd, evidence_grade,
    0.5 as measured_share_ratio, cast(cents as decimal(38, 0)) as measured_gpu_ns
from part;
create view class_team_month as
select
    month, team, waste_class, sum(gpu_ns) as gpu_ns, sum(billed_usd) as billed_usd,
    sum(effective_usd) as effective_usd, min(evidence_grade) as evidence_grade,
    sum(measured_gpu_ns) as measured_gpu_ns
from waste_team_month group by all;
create view showback_team_month as
select
    month, team, sum(gpu_ns) as gpu_ns, sum(billed_usd) as billed_usd,
    sum(effective_usd) as effective_usd, sum(billed_usd) as direct_usd, 0 as shared_usd,
    0 as tax_usd, 0 as credit_usd
from waste_team_month group by all;
create view invoice_month as
select
    month, 'Cloud' as issuer, 'I-1' as invoice_id, 'Usage' as charge_category, 100000 as line_count,
    sum(billed_usd) as billed_usd, sum(billed_usd) as allocated_usd, 0 as difference_usd,
    0 as wrong_lines, sum(gpu_ns) as billed_gpu_ns, sum(gpu_ns) as partitioned_gpu_ns
from waste_team_month group by all;
create view recon_invoice as
select
    date '2026-11-01' as month, 'line-' || i as line_id, 'Cloud' as issuer, 'I-1' as invoice_id,
    'Usage' as charge_category, timestamptz '2026-11-01 00:00:00Z' as charge_period_start,
    'i-' || (i % 3000) as resource_id, i / 7 as billed_usd, i / 7 as allocated_usd,
    0 as difference_usd, 1000000 * i as billed_gpu_ns, 1000000 * i as partitioned_gpu_ns,
    'bill.csv' as source_file
from range(100000) as t(i);
create view job_cost as
select
    date '2026-11-01' as month, team, cluster, job_id, attempt, job_name, user_name,
    'COMPLETED' as state, 8 as gpu_count, weight * 1000000000 as gpu_ns, weight / 300 as billed_usd,
    weight / 300 as effective_usd, 5.5 as energy_kwh, 0.3 as mfu_ratio
from job;
create view efficiency_ladder as
select
    date '2026-11-01' as month, team, cluster, job_id, attempt, rank, scope,
    0.95 as gpu_util_ratio, 0.9 as engine_active_ratio, (job_no % 90) / 100 as sm_active_ratio,
    0.2 as sm_occupancy_ratio, (job_no % 50) / 100 as tensor_active_ratio,
    (job_no % 40) / 100 as dram_active_ratio, (job_no % 45) / 100 as mfu_ratio,
    weight * 1000000000 as observed_ns, weight * 1000000000 as total_ns
from job
cross join (values ('allocated'), ('in_steps'), ('first_to_last_step')) as s(scope)
cross join (values (cast(null as bigint)), (0), (1)) as r(rank);
create view step_breakdown as
select
    date '2026-11-01' as month, cluster, job_id, attempt, rank, step, 'GPU-' || job_no || rank
    as gpu_uuid, step * 1000000 + rank as start_ns, 100000000 as step_ns, 60000000 as compute_ns,
    case rank when 0 then 30000000 else 0 end as comm_wait_ns, 5000000 as comm_exposed_ns,
    0 as copy_exposed_ns, case rank when 1 then 30000000 else 0 end as data_stall_ns,
    5000000 as launch_gap_ns, 0 as host_sync_ns, 0 as pipeline_bubble_ns, 0 as gap_unknown_ns,
    job_no % 7 = 0 as unfit, 'trace' as source_file
from job
cross join range(2) as r(rank)
cross join range(3, 8) as s(step)
where traced;
create view straggler_rank as
select
    date '2026-11-01' as month, team, cluster, job_id, attempt, rank,
    'GPU-' || job_no || rank as gpu_uuid, 'node-' || job_no as node,
    weight * 1000000 * rank as wait_caused_gpu_ns, weight * rank / 1000 as wait_caused_usd,
    1.5 as slowdown_ratio
from job
cross join range(2) as r(rank)
where traced;
create view train_step as
select
    cluster, job_id, attempt, cast(null as bigint) as rank, step, step * 100000000 as start_ns,
    (step + 1) * 100000000 - 100000 * (step % 7) as end_ns, 'log' as source_file, step as source_row
from job
cross join range(2000) as s(step)
where traced;
create view kernel_cost as
select
    date '2026-11-01' as month, team, cluster, job_id, 'compute' as bucket, 'GPT.Block' as module,
    'aten::op_' || k as op, 'void at::native::some_long_kernel_family_name_' || (k % 25)
    as kernel_family, 10 as traced_calls, 1000 as traced_gpu_ns, 5000 as calls,
    weight * 10000000 as gpu_ns, weight / 9000 as direct_usd, weight / 9000 as loaded_usd,
    weight / 18000 as low_usd, weight / 4500 as high_usd, 'memory' as bound, 'memory' as limiter,
    0.7 as achieved_ratio, 0.01 as coverage_ratio
from job
cross join range(30) as r(k);
create view compute_split as
select
    date '2026-11-01' as month, cluster, job_id, attempt, part, weight * 100000000 as gpu_ns,
    weight / 3000 as billed_usd, 'compute_split_shapes' as method_id
from job
cross join (values ('model_flops'), ('memory_ceiling'), ('below_roofline'), ('unsplit')) as p(part);
create view interruptions as
select
    date '2026-11-01' as month, team, cluster, job_id, attempt,
    timestamptz '2026-11-10 00:00:00Z' as interrupted_at, 'FAILED' as state, 'platform' as cause,
    7 as restored_step, weight * 1000000 as lost_gpu_ns, weight * 2000000 as lost_high_gpu_ns,
    weight / 7000 as lost_usd, 5000000000 as restart_gpu_ns, 'restore_record' as method_id
from job where job_no % 5 = 0;
create view idle_sessions as
select
    date '2026-11-01' as month, 'GPU-' || job_no as gpu_uuid, team, cluster, job_id, attempt,
    timestamptz '2026-11-10 00:00:00Z' as start, timestamptz '2026-11-10 05:00:00Z' as "end",
    'interactive' as sub, 'strict' as waste_class, weight * 1000000 as gpu_ns,
    weight / 3000 as billed_usd
from job where job_no % 4 = 0;
create view trace_file as
select
    date '2026-11-01' as month, 'traces/' || job_id || '/' || rank || '.json.gz' as source_file,
    cluster, job_id, attempt, rank, 'GPU-' || job_no || rank as gpu_uuid, 'path' as found_by,
    false as is_job_clash, false as is_host_clash, true as is_clock_ok, 0 as start_ns, 1 as end_ns,
    5 as step_count, 1000 as event_count, 100 as gpu_count, 1.0 as launch_linked_ratio,
    0.9 as op_linked_ratio, 0.5 as module_linked_ratio, 0 as graph_count, 50 as collective_count,
    1.0 as collective_matched_ratio, 1.1 as traced_step_ratio, false as unfit, 0 as reject_count,
    false as is_truncated, 1 as copy_count
from job
cross join range(2) as r(rank)
where traced;
create view waste_evidence as
select
    date '2026-11-01' as month, team, bucket, 'W01' as rule_id, 1 as rule_version,
    'the rule in words' as proof, source, 1000 as source_rows, ['bill.csv', 'sacct.psv']
    as source_files
from part
cross join (values ('bill'), ('scheduler'), ('telemetry'), ('steps')) as s(source);
create view telemetry_coverage as
select
    date '2026-11-01' as month, 'telemetry' as source, 'big' as cluster, 'node-' || (g // 8) as node,
    'GPU-' || g as gpu_uuid, date '2026-11-01' + cast(d as integer) as day, field,
    86400000000000 as expected_ns, 80000000000000 as observed_ns, 0 as invalid_ns
from range(1024) as t(g)
cross join range(30) as u(d)
cross join (values ('engine_active_ratio'), ('sm_active_ratio'), ('gpu_util_ratio')) as f(field)
