"""FOCUS 1.0 to 1.4 bills as CSV (plain or gzip) -> bill_line, bill_snapshot.

Columns are found by name, in any order and case; columns that a version or provider does not have
read as null, as do empty cells and `NULL`. Costs are exact: the text's decimals, half-even at 12;
a charge with a cost above 1e12 USD either way is a reject.
The file is read twice: first to learn what a line alone does not show (its currency, its invoice's
sums, which charges are equal), then to hand the charges on. Memory does not grow with the file,
but for 8 bytes a charge.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.bills.focus_columns import NULLS, TEXTS, Columns, find_columns
from ingest.bills.focus_values import (
    MONEY_CONTEXT,
    BadValue,
    gpu_count,
    hours,
    json_object,
    money,
    share_half_even,
    tag_value,
)
from ingest.options import check_options, text_option
from ingest.rows import BATCH_ROWS, Rejects, Rows, content_hash, cover, ns_of_time
from ingest.text import Record, parse_time, records
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import SourceError

KIND = "focus_csv"

EXPORT = """\
FOCUS 1.2 as gzip CSV, hourly, with resource ids. One file per billing period, overwritten.
AWS (Data Exports; once, then AWS refreshes it daily; list all columns of the table):
  aws bcm-data-exports create-export --region us-east-1 --export '{"Name": "focus",
    "DataQuery": {"QueryStatement": "SELECT AvailabilityZone, BilledCost, ... FROM FOCUS_1_2_AWS"},
    "DestinationConfigurations": {"S3Destination": {"S3Bucket": "BUCKET", "S3Prefix": "focus",
      "S3Region": "us-east-1", "S3OutputConfigurations": {"OutputType": "CUSTOM",
      "Format": "TEXT_OR_CSV", "Compression": "GZIP", "Overwrite": "OVERWRITE_REPORT"}}},
    "RefreshCadence": {"Frequency": "SYNCHRONOUS"}}'
  aws s3 sync s3://BUCKET/focus/focus/data/ bills/
Azure (Cost Management export, type FocusCost; FinOps toolkit for PowerShell):
  New-FinOpsCostExport -Name focus -Scope SCOPE -Dataset FocusCost -DatasetVersion 1.2-preview
    -Format Csv -CompressionMode GZip -StorageAccountId ID -StorageContainer exports
Google Cloud (native FOCUS export in BigQuery, preview; TO_JSON_STRING for nested columns):
  bq query --nouse_legacy_sql --format=csv --max_rows=100000000 'SELECT * EXCEPT (Tags),
    TO_JSON_STRING(Tags) AS Tags FROM `DATASET.gcp_billing_export_focus_ACCOUNT`
    WHERE BillingPeriodStart = TIMESTAMP "2026-11-01"' | gzip > bills/focus-2026-11.csv.gz
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {"team_tag": "the tag that names the team; default team, in any case"}

_CATEGORIES = {c.lower(): c for c in ("Usage", "Purchase", "Tax", "Credit", "Adjustment")}
_STATUSES = {"used": "Used", "unused": "Unused"}

_Values = Mapping[str, str | None]


@dataclass
class _Invoice:
    """What a tax without a list price is derived from: the sums of its invoice's other charges."""

    billed: Decimal = Decimal(0)
    list: Decimal | None = Decimal(0)


@dataclass
class _Survey:
    """What the first reading of a file learns."""

    columns: Columns
    start: datetime | None = None
    end: datetime | None = None
    invoices: dict[tuple[str | None, str], _Invoice] = field(default_factory=dict)
    twins: frozenset[int] = frozenset()

    @property
    def span(self) -> tuple[int, int] | None:
        """The billing periods of the file's charges, epoch ns."""
        return (ns_of_time(self.start), ns_of_time(self.end)) if self.start and self.end else None


@dataclass(frozen=True)
class _Charge:
    """What decides a charge's money and time."""

    category: str
    start: datetime
    end: datetime
    billing_start: datetime | None
    billing_end: datetime | None
    billed: Decimal
    effective: Decimal
    list: Decimal | None
    list_basis: str


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one bill file.

    Raises SourceError where the file is no FOCUS bill, lacks a column that decides money or time,
    or is in another currency than USD; ConfigError for a bad option. A charge that cannot be read
    becomes a reject and cuts coverage for its charge period.
    """
    team_tag = read_options(file)
    survey = _survey(file)
    charges, rejects = Rows("bill_line", file), Rejects(file, KIND)
    coverage, snapshot = Rows("source_coverage", file), Rows("bill_snapshot", file)
    seen: Counter[str] = Counter()
    count, total = 0, Decimal(0)
    cover(coverage, "bill", file, survey.span)
    reading = records(file)
    next(reading)
    for record in reading:
        values = survey.columns.values(record.cells) if record.cells else {}
        try:
            charge = _charge(record, values)
        except BadValue as error:
            rejects.put(f"line {record.line}", str(error), record.raw)
            _cut(coverage, record.line, values, survey, file)
        else:
            line_id = _line_id(record.cells, survey, seen)
            charges.add(
                line_id=line_id, source=file.source, source_row=record.line,
                **_money_columns(charge, values, survey), **_text_columns(values, team_tag),
            )  # fmt: skip
            count, total = count + 1, MONEY_CONTEXT.add(total, charge.billed)
        yield from charges.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
        yield from coverage.flush(at_least=BATCH_ROWS)
    snapshot.add(
        source=file.source, sha256=_sha256(file), row_count=count, reject_count=rejects.count,
        billing_period_start=survey.start, billing_period_end=survey.end, billed_usd=total,
        focus_version=survey.columns.version,
    )  # fmt: skip
    for rows in (charges, snapshot, rejects, coverage):
        yield from rows.flush()


def read_options(file: SourceFile) -> str:
    """The tag that names the team; ConfigError where an option cannot be."""
    check_options(file, OPTIONS)
    return text_option(file, "team_tag") or "team"


def _survey(file: SourceFile) -> _Survey:
    """Read the file once for what a line alone does not show."""
    reading = records(file)
    survey = _Survey(find_columns(next(reading, None), file))
    codes = array("q")
    for record in reading:
        values = survey.columns.values(record.cells) if record.cells else {}
        _check_currency(record.line, values, file)
        try:
            charge = _charge(record, values)
        except BadValue:
            continue
        codes.append(_code(record.cells, survey.columns))
        if charge.billing_start and charge.billing_end:
            survey.start = min(survey.start or charge.billing_start, charge.billing_start)
            survey.end = max(survey.end or charge.billing_end, charge.billing_end)
        invoice_id = values.get("InvoiceId")
        if charge.category != "Tax" and invoice_id is not None:
            key = values.get("InvoiceIssuerName"), invoice_id
            invoice = survey.invoices.setdefault(key, _Invoice())
            invoice.billed = MONEY_CONTEXT.add(invoice.billed, charge.billed)
            if invoice.list is not None:
                invoice.list = (
                    None if charge.list is None else MONEY_CONTEXT.add(invoice.list, charge.list)
                )
    survey.twins = _repeated(codes)
    return survey


def _check_currency(line: int, values: _Values, file: SourceFile) -> None:
    """Refuse a whole file in another currency: a part of it would be a wrong total."""
    currency = (values.get("BillingCurrency") or "USD").strip().upper()
    # Anything but three letters is a damaged record, which is rejected alone.
    if currency != "USD" and len(currency) == 3 and currency.isascii() and currency.isalpha():
        raise SourceError(
            file.name, f"line {line}: BillingCurrency is {currency}", expected="USD",
            todo="Export the bill in USD; Plumbline converts no currencies.",
        )  # fmt: skip


def _charge(record: Record, values: _Values) -> _Charge:
    """Read what decides money and time; BadValue says why the charge cannot be read."""
    if record.fault:
        raise BadValue(record.fault)
    category = _CATEGORIES.get((values["ChargeCategory"] or "").strip().lower())
    if category is None:
        raise BadValue(
            f"ChargeCategory is {values['ChargeCategory']!r}; expected one of "
            f"{', '.join(_CATEGORIES.values())}"
        )
    if (values["BillingCurrency"] or "").strip().upper() != "USD":
        raise BadValue(f"BillingCurrency is {values['BillingCurrency']!r}; expected USD")
    start, end = _time(values, "ChargePeriodStart"), _time(values, "ChargePeriodEnd")
    if start is None or end is None:
        raise BadValue("ChargePeriodStart or ChargePeriodEnd is null; expected both")
    if start >= end:
        raise BadValue(f"charge period starts at {start} and ends at {end}; expected start < end")
    billing_start = _time(values, "BillingPeriodStart")
    billing_end = _time(values, "BillingPeriodEnd")
    if billing_start and billing_end and billing_start >= billing_end:
        raise BadValue(f"billing period starts at {billing_start} and ends at {billing_end}")
    billed, effective = money(values, "BilledCost"), money(values, "EffectiveCost")
    if billed is None:
        raise BadValue("BilledCost is null; expected the invoiced amount, 0 where it is none")
    if effective is None:
        raise BadValue("EffectiveCost is null; expected the accrued amount: BilledCost is no "
                       "stand-in, since what a commitment covers is billed 0")  # fmt: skip
    list_cost, basis = money(values, "ListCost"), "delivered"
    if list_cost is None:
        basis = "absent"
        if category == "Credit":
            list_cost, basis = billed, "credit"
        elif category == "Purchase" and values.get("CommitmentDiscountId") is not None:
            # What it covers carries the list cost; on both it would count twice.
            list_cost, basis = Decimal(0), "covered_purchase"
    return _Charge(
        category, start, end, billing_start, billing_end, billed, effective, list_cost, basis
    )


def _time(values: _Values, name: str) -> datetime | None:
    text = values.get(name)
    if text is None:
        return None
    try:
        return parse_time(text, assume_utc=True)
    except ValueError as error:
        raise BadValue(f"{name}: {error}") from None


def _money_columns(charge: _Charge, values: _Values, survey: _Survey) -> dict[str, Any]:
    """The columns of bill_line that say how much, when and of what kind."""
    list_usd, basis = charge.list, charge.list_basis
    if charge.category == "Tax" and list_usd is None:
        key = values.get("InvoiceIssuerName"), values.get("InvoiceId") or ""
        related = survey.invoices.get(key)
        if related is not None and related.list is not None and related.billed != 0:
            list_usd = share_half_even(charge.billed, related.list, related.billed)
            basis = "absent" if list_usd is None else "tax"
    return {
        "charge_category": charge.category,
        "charge_period_start": charge.start,
        "charge_period_end": charge.end,
        "billing_period_start": charge.billing_start,
        "billing_period_end": charge.billing_end,
        "billed_usd": charge.billed,
        "effective_usd": charge.effective,
        "list_usd": list_usd,
        "list_basis": basis,
    }


def _text_columns(values: _Values, team_tag: str) -> dict[str, Any]:
    """The columns that say what was bought. Malformed JSON costs only what it would have said."""
    columns: dict[str, Any] = {column: values.get(name) for column, name in TEXTS.items()}
    details = json_object(values.get("SkuPriceDetails"))
    azure = json_object(values.get("x_SkuDetails"))
    instance = (
        details.get("InstanceType")
        or details.get("x_InstanceType")
        or values.get("x_InstanceType")
        or azure.get("ServiceType")
    )
    quantity = hours(values)
    columns.update(
        instance_type=instance if isinstance(instance, str) else None,
        # An hour of a GPU holds one GPU, whatever the machine has.
        sku_gpu_count=Decimal(1) if quantity.of_gpus else gpu_count(details.get("GpuCount")),
        quantity_hours=quantity.hours,
        quantity_basis=quantity.basis,
        commitment_discount_status=_STATUSES.get(
            (values.get("CommitmentDiscountStatus") or "").strip().lower()
        ),
        bill_team=tag_value(values.get("Tags"), team_tag),
    )
    return columns


def _code(cells: list[str], columns: Columns) -> int:
    """A number that is equal for equal charges of one file in one run of the program."""
    return hash(tuple([cells[at] for _, at in columns.identity]))


def _repeated(codes: array[int]) -> frozenset[int]:
    """The codes that occur more than once."""
    column = pa.Array.from_buffers(pa.int64(), len(codes), [None, pa.py_buffer(codes)])
    counts = pc.value_counts(column)
    more = pc.greater(counts.field("counts"), 1)
    return frozenset(counts.field("values").filter(more).to_pylist())


def _line_id(cells: list[str], survey: _Survey, seen: Counter[str]) -> str:
    """Hash the charge's content and its ordinal among equal charges: order changes no id."""
    parts = [
        part
        for name, at in survey.columns.identity
        if cells[at] not in NULLS
        for part in (name, cells[at])
    ]
    content = content_hash(*parts)
    ordinal = 0
    if _code(cells, survey.columns) in survey.twins:
        ordinal = seen[content]
        seen[content] += 1
    return content_hash(content, str(ordinal))


def _cut(coverage: Rows, line: int, values: _Values, survey: _Survey, file: SourceFile) -> None:
    """Make the bill blind for a reject: for its charge period, else for all of the file."""
    start = end = None
    with suppress(BadValue):
        start, end = _time(values, "ChargePeriodStart"), _time(values, "ChargePeriodEnd")
    if start is None or end is None or start >= end:
        start, end = survey.start, survey.end
    if start is not None and end is not None:
        coverage.add(
            source="bill", cluster=file.cluster, start=start, end=end, is_cut=True, source_row=line
        )


def _sha256(file: SourceFile) -> str:
    with Path(file.path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
