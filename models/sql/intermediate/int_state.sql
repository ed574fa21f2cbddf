/*
purpose: billed GPU-time of each bundle by GPU, hour, bucket, cause and payer; what the bill has
    and nothing shows is one row of its own, so that the rows of a bundle sum to what it bills
grain: one row per bundle, GPU, hour, bucket, sub, cause, hold, idle run and straggler
keys: bundle_id, row_no
columns:
    bundle_id | BIGINT | - | bundle
    row_no | BIGINT | - | number of the row in its bundle, from 1, in a stable order
    resource_id | VARCHAR | - | resource
    gpu_uuid | VARCHAR | - | GPU, null where nothing shows one
    hour_id | BIGINT | h | hours since the epoch, null where nothing places it
    bucket | VARCHAR | - | bucket
    waste_class | VARCHAR | - | strict, policy, step, overhead, unknown or useful
    sub | VARCHAR | - | kind within the bucket
    cause | VARCHAR | - | whose doing it is
    cause_ref | VARCHAR | - | the failed attempt, or the rank and GPU, that is the cause
    payer_team | VARCHAR | - | team that holds it and pays
    cluster | VARCHAR | - | cluster
    job_id | VARCHAR | - | job
    attempt | BIGINT | - | attempt
    hold_id | BIGINT | - | hold, 0 where none
    idle_id | BIGINT | - | idle run, 0 where none
    cause_hold_id | BIGINT | - | hold of the rank that is waited for, 0 where none
    gpu_ns | BIGINT | ns | time
    low_gpu_ns | BIGINT | ns | low bound of this part alone
    high_gpu_ns | BIGINT | ns | high bound of this part alone
    evidence_grade | VARCHAR | - | E0 bill, E1 + scheduler, E2 + counters, E3 + sampled traces, E4 every step traced
    method_id | VARCHAR | - | how the row was found
checks:
    bounds_in_order | blocking | low_gpu_ns <= gpu_ns and gpu_ns <= high_gpu_ns
    not_negative | blocking | low_gpu_ns >= 0
*/
with placed as (
    select
        bundle_id,
        cast(sum(gpu_ns) as bigint) as placed_ns
    from int_named_part
    group by bundle_id
),

every as (
    select
        bundle_id,
        resource_id,
        gpu_uuid,
        hour_id,
        bucket,
        waste_class,
        sub,
        cause,
        cause_ref,
        payer_team,
        cluster,
        job_id,
        attempt,
        hold_id,
        idle_id,
        cause_hold_id,
        gpu_ns,
        gpu_ns - less_ns as low_gpu_ns,
        gpu_ns + more_ns as high_gpu_ns,
        evidence_grade,
        method_id
    from int_named_part
    union all
    select
        bundle.bundle_id,
        bundle.resource_id,
        cast(null as varchar) as gpu_uuid,
        cast(null as bigint) as hour_id,
        'billed_not_seen' as bucket,
        'unknown' as waste_class,
        cast(null as varchar) as sub,
        'unknown' as cause,
        cast(null as varchar) as cause_ref,
        coalesce(tag.team, 'unmapped') as payer_team,
        cast(null as varchar) as cluster,
        cast(null as varchar) as job_id,
        cast(null as bigint) as attempt,
        0 as hold_id,
        0 as idle_id,
        0 as cause_hold_id,
        bundle.billed_gpu_ns - coalesce(placed.placed_ns, 0) as gpu_ns,
        bundle.billed_gpu_ns - coalesce(placed.placed_ns, 0) as low_gpu_ns,
        bundle.billed_gpu_ns - coalesce(placed.placed_ns, 0) as high_gpu_ns,
        'E0' as evidence_grade,
        'billed_not_seen' as method_id
    from int_bundle as bundle
    left join placed
        on bundle.bundle_id = placed.bundle_id
    left join int_tag_team as tag
        on bundle.bill_team = tag.bill_team
        and bundle.month = tag.month
    where bundle.billed_gpu_ns <> coalesce(placed.placed_ns, 0)
)

select
    bundle_id,
    cast(
        row_number() over (
            partition by bundle_id
            order by
                hour_id nulls last, gpu_uuid, bucket, waste_class, sub, cause, cause_ref,
                payer_team, cluster, job_id, attempt, method_id, idle_id
        ) as bigint
    ) as row_no,
    resource_id,
    gpu_uuid,
    hour_id,
    bucket,
    waste_class,
    sub,
    cause,
    cause_ref,
    payer_team,
    cluster,
    job_id,
    attempt,
    cast(hold_id as bigint) as hold_id,
    cast(idle_id as bigint) as idle_id,
    cast(cause_hold_id as bigint) as cause_hold_id,
    gpu_ns,
    low_gpu_ns,
    high_gpu_ns,
    evidence_grade,
    method_id
from every
