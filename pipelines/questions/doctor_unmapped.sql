-- Accounts and tags that map to no team.
with account as (
    select
        concat('account ', coalesce(account, 'none')) as subject,
        count(*) as number,
        'attempts' as word,
        sum(effective_usd) as effective_usd
    from job_cost
    where team = 'unmapped'
    group by account
),

tag as (
    select
        concat('bill tag ', line.bill_team) as subject,
        count(distinct line.line_id) as number,
        'lines' as word,
        sum(part.effective_usd) as effective_usd
    from allocation as part
    inner join bill_line as line
        on part.line_id = line.line_id
    where
        part.payer_team = 'unmapped'
        and part.job_id is null
        and line.bill_team is not null
    group by line.bill_team
),

found as (
    select * from account
    union all
    select * from tag
)

select
    subject,
    concat(
        cast(number as varchar), ' ', word, ', ',
        cast(cast(effective_usd as decimal(38, 2)) as varchar), ' USD'
    ) as detail
from found
order by
    effective_usd desc,
    subject
