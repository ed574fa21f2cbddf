-- Time that records show and the bill does not pay.
select cast(coalesce(sum(gpu_ns), 0) as bigint) as gpu_ns
from seen_not_billed
where month = $month
