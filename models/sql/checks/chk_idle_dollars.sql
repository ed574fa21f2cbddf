/*
purpose: the dollars of idle_sessions sum to the bucket idle_held
level: blocking
columns:
    month | DATE | - | month
    bucket_usd | DECIMAL(38,12) | USD | dollars of the bucket
    sessions_usd | DECIMAL(38,12) | USD | dollars of the sessions
*/
with bucket as (
    select
        month,
        cast(sum(billed_usd) as decimal(38, 12)) as usd
    from allocation
    where bucket = 'idle_held'
    group by month
),

session as (
    select
        month,
        cast(sum(billed_usd) as decimal(38, 12)) as usd
    from idle_sessions
    group by month
)

select
    coalesce(bucket.month, session.month) as month,
    bucket.usd as bucket_usd,
    session.usd as sessions_usd
from bucket
full outer join session
    on bucket.month = session.month
where coalesce(bucket.usd, 0) <> coalesce(session.usd, 0)
