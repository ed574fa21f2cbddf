-- Policy windows and when they end.
select
    concat(kind, ' of ', owner, ' on ' || coalesce(node, cluster, account, job_id)) as subject,
    "end"
from policy_window
order by
    "end",
    subject
