/*
purpose: every interval that decides a bucket, per GPU.
    Kinds whose intervals never overlap on one GPU carry an id (bundle, hour, hold, idle run);
    the others count with 1.
grain: one row per GPU, kind and interval; equal rows may repeat
keys: source, interval_no
columns:
    source | VARCHAR | - | place or hold: the model that it comes from
    interval_no | BIGINT | - | number of the interval in that model
    gpu_uuid | VARCHAR | - | GPU
    kind | VARCHAR | - | what the interval says
    id | BIGINT | - | id of the thing, or 1
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
*/
select
    'place' as source,
    interval_no,
    gpu_uuid,
    kind,
    id,
    start_ns,
    end_ns
from int_place_interval
union all
select
    'hold' as source,
    interval_no,
    gpu_uuid,
    kind,
    id,
    start_ns,
    end_ns
from int_hold_interval
