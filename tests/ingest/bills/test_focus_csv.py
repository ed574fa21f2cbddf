"""Bills: exact money, what a line alone does not show, and what is done with bad lines."""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.bills import focus_csv
from ingest.bills.focus_columns import REQUIRED
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

ROW = {
    "InvoiceIssuerName": "Cloud", "InvoiceId": "INV-1", "BillingAccountId": "007",
    "BillingCurrency": "USD", "BillingPeriodStart": "2026-11-01T00:00:00Z",
    "BillingPeriodEnd": "2026-12-01T00:00:00Z", "ChargePeriodStart": "2026-11-30T21:00:00Z",
    "ChargePeriodEnd": "2026-11-30T22:00:00Z", "ChargeCategory": "Usage", "BilledCost": "10.4365",
    "EffectiveCost": "10.4365", "ListCost": "10.4365", "ConsumedQuantity": "1",
    "ConsumedUnit": "Hours", "CommitmentDiscountId": "", "CommitmentDiscountStatus": "",
    "CommitmentDiscountQuantity": "", "CommitmentDiscountUnit": "", "PricingQuantity": "1",
    "PricingUnit": "Hours", "SkuPriceDetails": "", "Tags": "", "ResourceId": "i-1",
}  # fmt: skip


def text_of(rows: list[dict[str, str]], *, columns: list[str] | None = None) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns or list(ROW), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


Read = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read bytes, text or rows as a bill; gives the tables as lists of dicts."""

    def run(what: Any, *, name: str = "bill.csv", **options: object) -> dict[str, Any]:
        if isinstance(what, list):
            what = text_of([ROW | row for row in what])
        data = what.encode() if isinstance(what, str) else what
        path = tmp_path / name
        path.write_bytes(data)
        return read_path(path, **options)

    return run


def read_path(path: Path, **options: object) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in LANDING}
    file = SourceFile(str(path), path.name, "bill", None, None, options)
    for batch in focus_csv.read(file):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        tables[batch.table] += batch.rows.to_pylist()
    return tables


def test_a_charge_as_delivered(read: Read) -> None:
    tables = read([{}])
    (line,) = tables["bill_line"]
    assert line["billed_usd"] == line["effective_usd"] == line["list_usd"] == Decimal("10.4365")
    assert (line["list_basis"], line["quantity_hours"], line["quantity_basis"]) == (
        "delivered", 1, "consumed",
    )  # fmt: skip
    assert line["charge_period_start"] == datetime(2026, 11, 30, 21, tzinfo=UTC)
    assert (line["billing_account_id"], line["source_row"]) == ("007", 2)
    (snapshot,) = tables["bill_snapshot"]
    assert (snapshot["row_count"], snapshot["reject_count"]) == (1, 0)
    assert snapshot["billed_usd"] == Decimal("10.4365")
    assert snapshot["focus_version"] == "1.2"
    (coverage,) = tables["source_coverage"]
    assert coverage["source"] == "bill"
    assert not coverage["is_cut"]
    assert coverage["end"] == datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1E-5", "0.00001"),
        ("-2.5e+2", "-250"),
        ("8.0000000000000012", "8.000000000000"),
        ("0.1234567890125", "0.123456789012"),  # half to even
        ("0.1234567890135", "0.123456789014"),
        (" 55.04 ", "55.04"),
        ("-0.00", "0"),
        ("1e12", "1" + "0" * 12),
        ("-1000000000000", "-1" + "0" * 12),
    ],
)
def test_costs_are_exact(read: Read, text: str, value: str) -> None:
    (line,) = read([{"BilledCost": text}])["bill_line"]
    assert line["billed_usd"] == Decimal(value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"BilledCost": "1,000"}, "BilledCost: '1,000' is no number"),
        ({"BilledCost": "NaN"}, "no number"),
        ({"EffectiveCost": "-inf"}, "no number"),
        ({"BilledCost": "1_000"}, "no number"),
        ({"BilledCost": "１０"}, "no number"),
        ({"BilledCost": "1e27"}, "too large"),
        ({"BilledCost": "1000000000000.01"}, "at most 1,000,000,000,000 USD"),
        ({"EffectiveCost": "-1e13"}, "EffectiveCost: '-1e13' is too large; expected at most"),
        ({"ListCost": "9" * 26}, "ListCost"),
        ({"ListCost": "a lot"}, "ListCost"),
        ({"BilledCost": ""}, "BilledCost is null"),
        ({"EffectiveCost": "NULL"}, "EffectiveCost is null"),
        ({"ChargeCategory": "Gift"}, "ChargeCategory is 'Gift'; expected one of Usage"),
        ({"ChargeCategory": ""}, "ChargeCategory is None"),
        ({"BillingCurrency": ""}, "BillingCurrency"),
        ({"ChargePeriodEnd": "2026-11-30T21:00:00Z"}, "expected start < end"),
        ({"ChargePeriodStart": "yesterday"}, "ChargePeriodStart: 'yesterday' is no time"),
        ({"ChargePeriodEnd": ""}, "is null"),
        ({"BillingPeriodStart": "2027-11-01T00:00:00Z"}, "billing period"),
        ({"BillingPeriodEnd": "soon"}, "BillingPeriodEnd"),
    ],
)
def test_a_bad_charge_is_kept_as_a_reject(read: Read, change: dict[str, str], reason: str) -> None:
    tables = read([{}, change, {}])
    assert len(tables["bill_line"]) == 2
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert (reject["source"], reject["file"], reject["position"]) == (
        "focus_csv", "bill.csv", "line 3",
    )  # fmt: skip
    (snapshot,) = tables["bill_snapshot"]
    assert (snapshot["row_count"], snapshot["reject_count"]) == (2, 1)
    assert snapshot["billed_usd"] == Decimal("20.873")
    cuts = [row for row in tables["source_coverage"] if row["is_cut"]]
    assert [cut["source_row"] for cut in cuts] == [3]


def test_a_cut_is_for_the_charge_period_or_else_for_the_billing_period(read: Read) -> None:
    tables = read([{}, {"BilledCost": "x"}, {"ChargePeriodStart": "x"}])
    spans = {
        row["source_row"]: (row["start"].isoformat(), row["end"].isoformat())
        for row in tables["source_coverage"] if row["is_cut"]
    }  # fmt: skip
    assert spans == {
        3: ("2026-11-30T21:00:00+00:00", "2026-11-30T22:00:00+00:00"),
        4: ("2026-11-01T00:00:00+00:00", "2026-12-01T00:00:00+00:00"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30 21:00:00",
        "2026-11-30T21:00:00.000Z",
        "2026-11-30T22:00:00+01:00",
        "2026-11-30 21:00:00 UTC",
        "2026-11-30 21:00:00+00",
    ],
)
def test_times_are_utc_and_are_shifted_once(read: Read, text: str) -> None:
    """focus_converters#6: times that are UTC already were converted again."""
    (line,) = read([{"ChargePeriodStart": text}])["bill_line"]
    assert line["charge_period_start"] == datetime(2026, 11, 30, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("change", "hours", "basis"),
    [
        ({"ConsumedUnit": "hours"}, "1", "consumed"),
        ({"ConsumedQuantity": "355", "ConsumedUnit": "Seconds"}, "0.098611111111", "consumed"),
        ({"ConsumedQuantity": "15", "ConsumedUnit": "Minutes"}, "0.25", "consumed"),
        ({"ConsumedQuantity": "2", "ConsumedUnit": "Days"}, "48", "consumed"),
        ({"ConsumedUnit": "Instance-Hours"}, "1", "consumed"),
        ({"ConsumedQuantity": "0.5", "ConsumedUnit": "100 Hours"}, "50", "consumed"),
        ({"ConsumedQuantity": "-1"}, "-1", "consumed"),
        # Not a time of a machine: the next quantity counts.
        ({"ConsumedUnit": "vCPU-Hours", "PricingQuantity": "7"}, "7", "pricing"),
        ({"ConsumedUnit": "GB-Hours", "PricingUnit": "GB-Hours"}, None, None),
        ({"ConsumedUnit": "OCPU Per Hour", "PricingUnit": "Units/Hour"}, None, None),
        ({"ConsumedUnit": "Lambda-GB-Seconds", "PricingUnit": "Months"}, None, None),
        ({"ConsumedQuantity": "many", "PricingQuantity": "3"}, "3", "pricing"),
        # A commitment that nobody used has no consumed quantity.
        ({"ConsumedQuantity": "", "ConsumedUnit": "", "CommitmentDiscountQuantity": "4",
          "CommitmentDiscountUnit": "Hours", "PricingQuantity": "9"}, "4", "commitment"),
        ({"ConsumedQuantity": "", "CommitmentDiscountQuantity": "4",
          "CommitmentDiscountUnit": "USD", "PricingQuantity": "9"}, "9", "pricing"),
    ],
)  # fmt: skip
def test_hours(read: Read, change: dict[str, str], hours: str | None, basis: str | None) -> None:
    (line,) = read([change])["bill_line"]
    assert line["quantity_hours"] == (None if hours is None else Decimal(hours))
    assert line["quantity_basis"] == basis


@pytest.mark.parametrize(
    ("details", "unit", "count", "instance"),
    [
        ('{"GpuCount": 8, "InstanceType": "p5.48xlarge"}', "Hours", "8", "p5.48xlarge"),
        ('{"GpuCount": "0.125"}', "Hours", "0.125", None),
        ('{"GpuCount": -1}', "Hours", None, None),
        ('{"GpuCount": true}', "Hours", None, None),
        ('{"GpuCount": 0}', "Hours", "0", None),
        ('{"InstanceType": "a3-ultragpu-8g"}', "GPU Hours", "1", "a3-ultragpu-8g"),
        ('{"x_InstanceType": "p5"}', "Hours", None, "p5"),
        ('{"GpuCount": ', "Hours", None, None),
        ("[" * 5000, "Hours", None, None),
        ("[1]", "Hours", None, None),
    ],
)
def test_price_details(
    read: Read, details: str, unit: str, count: str | None, instance: str | None
) -> None:
    (line,) = read([{"SkuPriceDetails": details, "ConsumedUnit": unit}])["bill_line"]
    assert line["sku_gpu_count"] == (None if count is None else Decimal(count))
    assert line["instance_type"] == instance
    assert line["billed_usd"] == Decimal("10.4365")


@pytest.mark.parametrize(
    ("tags", "team"),
    [
        ('{"team": "research"}', "research"),
        ('{"Team": "research"}', "research"),  # FOCUS_Spec#2322: keys come in mixed case
        ('{"Team": "research", "TEAM": "research"}', "research"),
        ('{"Team": "research", "TEAM": "applied"}', None),
        ('{"Team": "research", "team": "applied"}', "applied"),
        ('{"team": ""}', None),
        ('{"team": ["a"]}', None),
        ('{"application:x": "y"}', None),  # ApplicationCostMonitoring#2: keys with a colon
        ('{"team": "research"', None),
        ("NULL", None),
    ],
)
def test_the_team_tag(read: Read, tags: str, team: str | None) -> None:
    (line,) = read([{"Tags": tags}])["bill_line"]
    assert line["bill_team"] == team
    assert line["tags_json"] == (None if tags == "NULL" else tags)


def test_the_team_tag_can_be_named(read: Read) -> None:
    assert (
        read([{"Tags": '{"user:team": "x"}'}], team_tag="user:team")["bill_line"][0]["bill_team"]
        == "x"
    )
    with pytest.raises(ConfigError, match="team_tag is 3"):
        read([{}], team_tag=3)
    with pytest.raises(ConfigError, match=r"unknown option 'team_tags'.*did you mean 'team_tag'"):
        read([{}], team_tags="x")


def test_list_costs_that_are_absent(read: Read) -> None:
    """Tax takes the rate of its own invoice; what nobody knows stays null, never 0."""
    absent = {"ListCost": ""}
    tables = read(
        [
            {"BilledCost": "80", "ListCost": "120"},
            {"ChargeCategory": "Credit", "BilledCost": "-20", **absent},
            {"ChargeCategory": "Tax", "BilledCost": "7", **absent},
            {"ChargeCategory": "Tax", "BilledCost": "1", "ListCost": "2"},
            {"ChargeCategory": "Purchase", "CommitmentDiscountId": "sp-1", **absent},
            {"InvoiceId": "INV-2", **absent},
            {"InvoiceId": "INV-2", "ChargeCategory": "Tax", **absent},
            {"InvoiceId": "INV-3", "ChargeCategory": "Tax", **absent},
            {"InvoiceId": "INV-4", "BilledCost": "0"},
            {"InvoiceId": "INV-4", "ChargeCategory": "Tax", **absent},
            {"InvoiceId": "", "ChargeCategory": "Tax", **absent},
            {"InvoiceIssuerName": "Other", "BilledCost": "1", "ListCost": "1"},
            {"InvoiceIssuerName": "Other", "ChargeCategory": "Tax", "BilledCost": "3", **absent},
        ]
    )
    related_billed = Decimal(80 - 20) + Decimal("10.4365")
    tax = (Decimal(7) * Decimal(120 - 20) / related_billed).quantize(Decimal("1e-12"))
    assert [(line["list_usd"], line["list_basis"]) for line in tables["bill_line"]] == [
        (120, "delivered"), (-20, "credit"), (tax, "tax"), (2, "delivered"),
        (0, "covered_purchase"), (None, "absent"), (None, "absent"), (None, "absent"),
        (Decimal("10.4365"), "delivered"), (None, "absent"), (None, "absent"),
        # The same invoice number of another issuer is another invoice.
        (1, "delivered"), (3, "tax"),
    ]  # fmt: skip


def test_reordering_changes_no_id_and_equal_charges_are_both_kept(read: Read) -> None:
    """koku#3155 and FOCUS: consumers do not deduplicate; two equal charges are two charges."""
    rows = [ROW | {"ResourceId": f"i-{n % 7}"} for n in range(20)]
    columns = list(ROW)
    first = read(text_of(rows, columns=columns))["bill_line"]
    random.Random(1).shuffle(rows)
    random.Random(2).shuffle(columns)
    second = read(text_of(rows, columns=columns))["bill_line"]

    def by_id(lines: list[dict[str, Any]]) -> dict[str, str]:
        return {line["line_id"]: line["resource_id"] for line in lines}

    assert len(by_id(first)) == 20
    assert by_id(first) == by_id(second)
    # A column that is new and empty, and one that is no FOCUS column, change no id either.
    wider = [row | {"x_New": "1", "SkuMeter": "NULL"} for row in rows]
    assert by_id(read(text_of(wider, columns=[*columns, "x_New", "SkuMeter"]))["bill_line"]) == (
        by_id(first)
    )


def test_the_header_may_be_in_any_case_with_a_mark_and_windows_lines(read: Read) -> None:
    text = text_of([ROW])
    head, body = text.split("\n", 1)
    tables = read(b"\xef\xbb\xbf" + f"{head.lower()}\n{body}".replace("\n", "\r\n").encode())
    assert [line["resource_id"] for line in tables["bill_line"]] == ["i-1"]
    assert tables["bill_line"][0]["line_id"] == read(text)["bill_line"][0]["line_id"]


def test_line_feeds_in_quotes_and_a_quote_that_never_closes(read: Read) -> None:
    lines = text_of(
        [ROW | {"ResourceId": "a\nb"}, ROW | {"ResourceId": "i-2"}, ROW | {"ResourceId": "c\nd"}]
    ).split("\n")
    broken = lines[3].replace("i-2", '"i-2')
    tables = read("\n".join([*lines[:3], broken, *lines[4:]]))
    assert [line["resource_id"] for line in tables["bill_line"]] == ["a\nb", "c\nd"]
    assert [line["source_row"] for line in tables["bill_line"]] == [2, 5]
    assert [reject["position"] for reject in tables["reject"]] == ["line 4"]


def test_rows_with_too_many_or_too_few_cells_and_a_cut_last_line(read: Read) -> None:
    head, good, _ = text_of([ROW]).split("\n")
    tables = read("\n".join([head, good + ",1", good, good.rsplit(",", 2)[0]]))
    assert len(tables["bill_line"]) == 1
    assert [reject["reason"] for reject in tables["reject"]] == [
        "24 cells; expected 23 as in the header",
        "21 cells; expected 23 as in the header",
    ]


def test_a_compressed_file_that_was_cut(read: Read) -> None:
    text = text_of([ROW | {"ResourceId": f"i-{random.Random(n).random()}"} for n in range(2000)])
    whole = gzip.compress(text.encode(), mtime=0)
    full = read(whole, name="bill.csv.gz")
    assert len(full["bill_line"]) == 2000
    cut = read(whole[: len(whole) // 2], name="bill.csv.gz")
    read_before = len(cut["bill_line"])
    assert 0 < read_before < 2000
    assert cut["bill_line"] == full["bill_line"][:read_before]
    (reject,) = cut["reject"]
    assert "the copy was cut" in reject["reason"]
    assert reject["position"] == f"line {read_before + 2}"
    assert any(row["is_cut"] for row in cut["source_coverage"])


def test_a_damaged_compressed_file_is_refused(read: Read) -> None:
    data = bytearray(gzip.compress(text_of([ROW] * 500).encode(), mtime=0))
    data[-6] ^= 0xFF  # the checksum
    with pytest.raises(SourceError, match=r"compressed data are damaged.*Copy or export it again"):
        read(bytes(data), name="bill.csv.gz")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no header"),
        (b"ts_ns,gpu_util_pct\n1,2\n", "is no FOCUS bill: it has no column BilledCost"),
        (b"BilledCost,EffectiveCost\n1,1\n", "has no column BillingCurrency, ChargeCategory"),
        ("BilledCost\n".encode("utf-16"), "is UTF-16"),
        (gzip.compress(b"x", mtime=0), "is compressed by gzip"),
        (b"\x00\xff" * 50, "is no FOCUS bill"),
        (b"BilledCost,billedcost\n", "has two columns BilledCost"),
    ],
)
def test_a_file_that_is_no_bill(read: Read, data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(data)


def test_another_currency_is_refused_before_anything_is_handed_on(tmp_path: Path) -> None:
    """Azure-Cost-Reporting#28: one currency for each total."""
    path = tmp_path / "bill.csv"
    path.write_text(text_of([ROW, ROW | {"BillingCurrency": "EUR"}]))
    reading = focus_csv.read(SourceFile(str(path), "bill.csv", "bill", None, None, {}))
    with pytest.raises(SourceError, match="line 3: BillingCurrency is EUR; expected USD"):
        next(reading)


def test_a_header_alone_is_an_empty_bill(read: Read) -> None:
    tables = read(text_of([]))
    assert not tables["bill_line"]
    assert not tables["source_coverage"]
    (snapshot,) = tables["bill_snapshot"]
    assert (snapshot["row_count"], snapshot["billed_usd"]) == (0, 0)


def test_columns_that_a_provider_lacks_are_null(read: Read) -> None:
    """opencost PR#3268, kubecost#1657: an absent column is null, not an error."""
    columns = list(REQUIRED)
    (line,) = read(text_of([{name: ROW[name] for name in columns}], columns=columns))["bill_line"]
    assert (line["list_usd"], line["list_basis"], line["issuer"]) == (None, "absent", None)
    assert line["quantity_hours"] is None


def test_status_unused_and_money_signs_stand_as_delivered(read: Read) -> None:
    """opencost#3574: negative amounts stay; finops-toolkit#1092: a purchase keeps BilledCost."""
    tables = read(
        [
            {"CommitmentDiscountStatus": "Unused", "BilledCost": "0", "EffectiveCost": "5"},
            {"CommitmentDiscountStatus": "odd"},
            {"ChargeCategory": "credit", "BilledCost": "-5", "EffectiveCost": "-5"},
        ]
    )
    lines = tables["bill_line"]
    assert [line["commitment_discount_status"] for line in lines] == ["Unused", None, None]
    assert [line["charge_category"] for line in lines] == ["Usage", "Usage", "Credit"]
    assert [line["billed_usd"] for line in lines] == [0, Decimal("10.4365"), -5]


amounts = st.decimals(-(10**9), 10**9, allow_nan=False, allow_infinity=False, places=9)
texts = st.text(
    st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=12
).filter(lambda text: text not in ("", "NULL"))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.lists(st.tuples(amounts, amounts, texts), max_size=12))
def test_what_is_written_is_read(read: Read, rows: list[tuple[Decimal, Decimal, str]]) -> None:
    tables = read(
        (
            [
                {
                    "BilledCost": f"{billed:E}",
                    "EffectiveCost": f"{effective:f}",
                    "ResourceName": name,
                }
                for billed, effective, name in rows
            ]
            and text_of(
                [
                    ROW | {"BilledCost": f"{b:E}", "EffectiveCost": f"{e:f}", "ResourceName": name}
                    for b, e, name in rows
                ],
                columns=[*ROW, "ResourceName"],
            )
        )
        or text_of([])
    )
    assert not tables["reject"]
    found = [
        (line["billed_usd"], line["effective_usd"], line["resource_name"])
        for line in tables["bill_line"]
    ]
    assert found == rows
    assert tables["bill_snapshot"][0]["billed_usd"] == sum(b for b, _, _ in rows)
    assert len({line["line_id"] for line in tables["bill_line"]}) == len(rows)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100
)
@given(st.binary(max_size=300), st.integers(0, 400))
def test_noise_in_a_bill_costs_only_lines(read: Read, noise: bytes, at: int) -> None:
    """Whatever stands in the middle: the reader ends, and each line is read or rejected."""
    text = text_of([ROW | {"ResourceId": str(n)} for n in range(3)]).encode()
    head = text.index(b"\n") + 1
    place = head + at % (len(text) - head)
    data = text[:place] + noise + text[place:]
    tables = read(data)
    (snapshot,) = tables["bill_snapshot"]
    assert snapshot["row_count"] == len(tables["bill_line"])
    assert snapshot["reject_count"] == len(tables["reject"])
    assert snapshot["billed_usd"] == sum(line["billed_usd"] for line in tables["bill_line"])
    assert {"0", "1", "2"} & {line["resource_id"] for line in tables["bill_line"]}


@pytest.mark.parametrize(
    ("name", "version", "total"),
    [
        ("fdt_1_2_aws.csv", "1.2", "18857.124623679031"),
        ("focus10_official_small.csv.gz", "1.0", "20.520226728990"),
    ],
)
def test_public_bills_add_up(shared_data: Path, name: str, version: str, total: str) -> None:
    path = shared_data / "bills" / name
    if not path.exists():
        pytest.skip(f"no {path}")
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    tables = read_path(path, team_tag="costcenter")
    lines = tables["bill_line"]
    assert not tables["reject"]
    assert len(lines) == len({line["line_id"] for line in lines}) == len(rows)
    for column, name in [
        ("billed_usd", "BilledCost"), ("effective_usd", "EffectiveCost"), ("list_usd", "ListCost"),
    ]:  # fmt: skip
        # Costs with more decimals are rounded line by line, half to even.
        exact = [Decimal(row[name]).quantize(Decimal("1e-12"), ROUND_HALF_EVEN) for row in rows]
        assert [line[column] for line in lines] == exact
    assert sum(line["billed_usd"] for line in lines) == Decimal(total)
    assert tables["bill_snapshot"][0]["focus_version"] == version
    units = Counter(line["quantity_basis"] for line in lines)
    hours = {"Hours", "Seconds"}
    assert units[None] == sum(
        not {row["ConsumedUnit"], row.get("CommitmentDiscountUnit"), row["PricingUnit"]} & hours
        for row in rows
    )
    assert sum(line["bill_team"] is not None for line in lines) == sum(
        '"CostCenter"' in row["Tags"] for row in rows
    )


@pytest.mark.parametrize(
    "name", ["nise_aws_cur_p5_2026-05.csv", "synth_gcp_detailed_export_a3.ndjson"]
)
def test_bills_of_other_formats_are_refused(shared_data: Path, name: str) -> None:
    path = shared_data / "bills" / name
    if not path.exists():
        pytest.skip(f"no {path}")
    with pytest.raises(SourceError, match=r"is no FOCUS bill|has no header"):
        read_path(path)
