"""Calling the command in this process, and a cluster that fits on one screen to call it on."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from pipelines.cli import cli

#: One instance of two GPUs for one hour, as the mini cluster is billed by default.
LINE = {
    "InvoiceIssuerName": "Cloud", "InvoiceId": "INV-1", "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z",
    "ChargePeriodStart": "2026-11-10T10:00:00Z", "ChargePeriodEnd": "2026-11-10T11:00:00Z",
    "ChargeCategory": "Usage", "ChargeDescription": "two GPUs", "BilledCost": "20",
    "EffectiveCost": "20", "ListCost": "20", "ConsumedQuantity": "1", "ConsumedUnit": "Hours",
    "ResourceId": "i-1", "SkuPriceDetails": '{"GpuCount": 2}', "Tags": "{}",
}  # fmt: skip
#: A job that holds both GPUs from 10:00 to 10:30.
JOB = {
    "JobIDRaw": "7", "JobID": "7", "Cluster": "c1", "User": "ann", "Account": "vision",
    "State": "COMPLETED", "ExitCode": "0:0", "Submit": "1794304700", "Start": "1794304800",
    "End": "1794306600", "Suspended": "00:00:00", "AllocTRES": "gres/gpu=2", "NodeList": "n1",
    "JobName": "train",
}  # fmt: skip
GPU = {
    "gpu_uuid": "GPU-a", "resource_id": "i-1", "cluster": "c1", "node": "n1", "gpu_index": "0",
    "gpu_model": "NVIDIA H200", "start": "2026-11-10T10:00:00Z", "end": "2026-11-10T11:00:00Z",
}  # fmt: skip
TEAM = {
    "kind": "account", "key": "vision", "team": "vision",
    "valid_from": "2026-01-01T00:00:00Z", "valid_to": "",
}  # fmt: skip

CONFIG = """\
[warehouse]
root = "out"

[[source]]
kind = "focus_csv"
files = ["bill*.csv"]

[[source]]
kind = "gpu_inventory"
files = ["inventory.csv"]

[[source]]
kind = "sacct"
cluster = "c1"
files = ["sacct.psv"]
covers = ["2026-11-10T00:00:00Z", "2026-11-11T00:00:00Z"]

[[source]]
kind = "team_map"
files = ["teams.csv"]
"""

Rows = Sequence[Mapping[str, str]]


def call(*words: object, config: Path | None = None, stdin: str | None = None) -> Result:
    """Run the command; its result has exit_code, stdout, stderr and output (both)."""
    common = () if config is None else ("--config", str(config))
    return CliRunner().invoke(cli, [*common, *map(str, words)], input=stdin, prog_name="plumbline")


def done(*words: object, config: Path | None = None, stdin: str | None = None) -> str:
    """Run the command, which must end well; what it prints on standard output."""
    result = call(*words, config=config, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def failed(*words: object, code: int, config: Path | None = None) -> str:
    """Run the command, which must end with this code and no traceback; its standard error."""
    result = call(*words, config=config)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stderr


def cluster(
    folder: Path,
    *,
    lines: Rows = ({},),
    jobs: Rows = ({},),
    gpus: Rows = ({}, {"gpu_uuid": "GPU-b", "gpu_index": "1"}),
    teams: Rows = ({},),
    config: str = CONFIG,
) -> Path:
    """Write a cluster's exports and its configuration; rows say only what differs."""
    _csv(folder / "bill.csv", LINE, lines)
    _csv(folder / "sacct.psv", JOB, jobs, delimiter="|")
    _csv(folder / "inventory.csv", GPU, gpus)
    _csv(folder / "teams.csv", TEAM, teams)
    path = folder / "plumbline.toml"
    path.write_text(config)
    return path


def _csv(path: Path, default: Mapping[str, str], rows: Rows, *, delimiter: str = ",") -> None:
    out = io.StringIO()
    quoting = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    writer = csv.DictWriter(
        out, [*default], delimiter=delimiter, lineterminator="\n", quoting=quoting, quotechar=None
        if delimiter == "|" else '"',
    )  # fmt: skip
    writer.writeheader()
    writer.writerows({**default, **row} for row in rows)
    path.write_text(out.getvalue(), encoding="utf-8")
