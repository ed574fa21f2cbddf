/*
purpose: an invoice stands in one file. In several it may be one bill in parts, or a restated bill
    beside the one that it replaces, which is counted twice
level: warning
columns:
    issuer | VARCHAR | - | InvoiceIssuerName
    invoice_id | VARCHAR | - | InvoiceId
    file_count | BIGINT | files | files
    first_file | VARCHAR | - | one of them
    last_file | VARCHAR | - | another
*/
select
    issuer,
    invoice_id,
    count(distinct source_file) as file_count,
    min(source_file) as first_file,
    max(source_file) as last_file
from stg_bill_line
where invoice_id is not null
group by
    issuer,
    invoice_id
having count(distinct source_file) > 1
