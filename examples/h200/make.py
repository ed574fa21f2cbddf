#!/usr/bin/env python3
"""Write what no recording has: the scheduler's, the bill's and the inventory's side of it.

The counters, the step logs and the driver's job times under recordings/ were measured on real
H200s. A scheduler and a bill did not exist for these machines. This script writes them by fixed
rules from the recorded times, so that the whole chain can be run; README.md says each rule. The
output depends on the recordings and on the shift alone: the same call gives the same bytes.

With a shift the recordings are copied too, all their times moved by whole seconds, so that a test
can lay the same work across the end of an hour or of a month.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from string import Template

HERE = Path(__file__).resolve().parent
CLUSTER = "h200"
PARTITION = "gpu"
#: Everything below recordings/ that is read; a shifted copy has these files and no others.
RECORDED = (
    "*/jobs.csv", "*/nvml*.csv", "*/nvidia-smi-q.txt", "*/job_*/steps_*.jsonl",
    "*/job_*/kineto/*.pt.trace.json.gz", "*/job_*/nccl_flight_recorder_rank*.json.gz",
)  # fmt: skip

#: Account of each job: the team that data of the recording names for its workload.
ACCOUNTS = {
    "1001": "foundation", "1002": "applied", "1003": "applied", "1004": "research",
    "1005": "recsys", "1006": "research", "1007": "serving", "1008": "serving",
    "1009": "research", "1010": "foundation", "2001": "foundation", "2002": "foundation",
    "2003": "applied", "2004": "foundation", "2005": "research",
}  # fmt: skip
#: Invented users and cost centres, one per account.
PEOPLE = {
    "foundation": ("ines", 2001, "CC-4100"), "applied": ("tomas", 2002, "CC-4200"),
    "research": ("wen", 2003, "CC-4300"), "recsys": ("aisha", 2004, "CC-4400"),
    "serving": ("jonas", 2005, "CC-4500"),
}  # fmt: skip
#: Notebooks: salloc gives them an interactive step where sbatch gives a batch step.
INTERACTIVE = frozenset({"1009", "2005"})

SACCT_FIELDS = (
    "JobIDRaw", "JobID", "Cluster", "User", "Account", "Partition", "QOS", "State", "ExitCode",
    "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "AllocTRES", "ReqTRES",
    "NNodes", "NodeList", "Reason", "JobName",
)  # fmt: skip

#: Job 1010 saves a checkpoint in each step whose number is a multiple of this, but not in step 0.
SAVE_EVERY = 20
#: How long its second attempt is said to read the checkpoint back: the one invented duration.
RESTORE_NS = 3_000_000_000

#: USD per H200 GPU-hour: list price of a3-ultragpu-8g, us-central1, on 2026-10-13, per GPU.
LIST_RATE = Decimal("10.4365")
#: The unused commitment's rate: 30 % below list.
COMMITTED_RATE = Decimal("7.30555")
COMMITMENT_ID = "cud-h200-1"
COMMITTED_HOURS = Decimal("0.05")
SSD_GIB, SSD_RATE = Decimal(35), Decimal("0.0005")
TAX_RATE = Decimal("0.19")
MICRO = Decimal("0.000001")

#: The 57 columns of FOCUS 1.2, in the order of the specification.
FOCUS_HEADER = """
AvailabilityZone, BilledCost, BillingAccountId, BillingAccountName, BillingAccountType,
BillingCurrency, BillingPeriodEnd, BillingPeriodStart, CapacityReservationId,
CapacityReservationStatus, ChargeCategory, ChargeClass, ChargeDescription, ChargeFrequency,
ChargePeriodEnd, ChargePeriodStart, CommitmentDiscountCategory, CommitmentDiscountId,
CommitmentDiscountName, CommitmentDiscountQuantity, CommitmentDiscountStatus,
CommitmentDiscountType, CommitmentDiscountUnit, ConsumedQuantity, ConsumedUnit, ContractedCost,
ContractedUnitPrice, EffectiveCost, InvoiceId, InvoiceIssuerName, ListCost, ListUnitPrice,
PricingCategory, PricingCurrency, PricingCurrencyContractedUnitPrice,
PricingCurrencyEffectiveCost, PricingCurrencyListUnitPrice, PricingQuantity, PricingUnit,
ProviderName, PublisherName, RegionId, RegionName, ResourceId, ResourceName, ResourceType,
ServiceCategory, ServiceName, ServiceSubcategory, SkuId, SkuMeter, SkuPriceDetails, SkuPriceId,
SubAccountId, SubAccountName, SubAccountType, Tags
"""

FOCUS_COLUMNS = tuple(name.strip() for name in FOCUS_HEADER.split(","))

US_PER_S = 1_000_000
US_PER_HOUR = 3600 * US_PER_S


@dataclass(frozen=True)
class Machine:
    """One recorded machine; both called themselves `vm`, so the node names are given here."""

    folder: str
    node: str
    resource_id: str
    instance_type: str
    gpus: int
    up_s: int


MACHINES = (
    Machine("one-gpu", "gpu-node-0", "i-h200-one", "h200-1g-recorded", 1, 355),
    Machine("two-gpu", "gpu-node-1", "i-h200-two", "h200-2g-recorded", 2, 169),
)


@dataclass(frozen=True)
class Attempt:
    """One incarnation of a job, its times in the driver's epoch nanoseconds, shifted."""

    job_id: str
    number: int
    name: str
    machine: Machine
    gpu_indices: tuple[int, ...]
    start_ns: int
    end_ns: int
    exit_code: int
    submit_s: int

    @property
    def start_s(self) -> int:
        """The scheduler's start: the whole second in which the driver started the job."""
        return self.start_ns // 10**9

    @property
    def end_s(self) -> int:
        """The scheduler's end: the whole second in which the job ended."""
        return self.end_ns // 10**9


@dataclass(frozen=True)
class UpTime:
    """When a machine was up, epoch microseconds, half-open; a whole number of seconds long."""

    machine: Machine
    start_us: int

    @property
    def end_us(self) -> int:
        """End, exclusive."""
        return self.start_us + self.machine.up_s * US_PER_S

    def by_hour(self) -> list[tuple[int, Decimal]]:
        """Clock hours (start in epoch us) and the hours up in each, to six decimals.

        The last hour takes what is left of the rounded total, as providers do it.
        """
        total = _hours(self.end_us - self.start_us)
        parts: list[tuple[int, Decimal]] = []
        at = self.start_us
        while at < self.end_us:
            hour = at - at % US_PER_HOUR
            end = min(hour + US_PER_HOUR, self.end_us)
            last = end == self.end_us
            rest = total - sum((hours for _, hours in parts), Decimal(0))
            parts.append((hour, rest if last else _hours(end - at)))
            at = end
        return parts


def _hours(duration_us: int) -> Decimal:
    return (Decimal(duration_us) / US_PER_HOUR).quantize(MICRO, ROUND_HALF_EVEN)


def _utc(epoch_s: int, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime(form)


def _utc_us(epoch_us: int) -> str:
    return f"{_utc(epoch_us // US_PER_S)}.{epoch_us % US_PER_S:06d}Z"


def _template(name: str) -> Template:
    return Template((HERE / "templates" / f"{name}.in").read_text(encoding="utf-8"))


def _jsonl(records: Sequence[dict[str, object]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _csv(columns: Sequence[str], rows: Sequence[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


# --- what the recordings say --------------------------------------------------------------------


def read_attempts(recordings: Path, *, shift_ns: int = 0) -> list[Attempt]:
    """Every job of both machines, in the order in which they started.

    All jobs of a machine are submitted a second before its first one starts; the second attempt of
    1010 is the requeue, submitted as the first one ends.
    """
    attempts: list[Attempt] = []
    for machine in MACHINES:
        with (recordings / machine.folder / "jobs.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        queued = min(int(row["start_ns"]) + shift_ns for row in rows) // 10**9 - 1
        ended: dict[str, int] = {}
        for row in rows:
            first, _, last = row.get("gpus", "0").partition("-")
            job, end_ns = row["job_id"], int(row["end_ns"]) + shift_ns
            attempts.append(
                Attempt(
                    job_id=job, number=int(row.get("attempt", "0")), name=row["name"],
                    machine=machine, gpu_indices=tuple(range(int(first), int(last or first) + 1)),
                    start_ns=int(row["start_ns"]) + shift_ns, end_ns=end_ns,
                    exit_code=int(row["exit_code"]), submit_s=ended.get(job, queued),
                )
            )  # fmt: skip
            ended[job] = end_ns // 10**9
    return attempts


def read_up_times(recordings: Path, *, shift_ns: int = 0) -> list[UpTime]:
    """When each machine was up: from the first sample's own 100 ms on, for its whole seconds.

    Where the last sample would lie outside, the first sample itself is the start.
    """
    found = []
    for machine in MACHINES:
        times: list[int] = []
        for path in sorted((recordings / machine.folder).glob("nvml*.csv")):
            lines = path.read_text().splitlines()
            times += [int(lines[1].split(",")[0]), int(lines[-1].split(",")[0])]
        first, last = min(times) + shift_ns, max(times) + shift_ns
        start_us = (first - 100_000_000) // 1000
        if last >= (start_us + machine.up_s * US_PER_S) * 1000:
            start_us = first // 1000
        found.append(UpTime(machine, start_us))
    return found


def read_gpus(recordings: Path, machine: Machine) -> list[tuple[str, str, str]]:
    """UUID, PCI address and model of the machine's GPUs, in the driver's order."""
    text = (recordings / machine.folder / "nvidia-smi-q.txt").read_text()
    wanted = ("GPU UUID", "Bus Id", "Product Name")
    uuid, bus, model = (re.findall(rf"^ +{key} +: (.+)$", text, re.M) for key in wanted)
    return list(zip(uuid, bus, model, strict=True))


def shifted_file(name: str, content: bytes, *, shift_ns: int) -> bytes:
    """A recorded file with its times moved; without a shift, the very same bytes."""
    if not shift_ns:
        return content
    if not name.endswith(".gz"):
        return shifted_recording(name, content.decode(), shift_ns=shift_ns).encode()
    # A time stamp in the gzip header would make each call's bytes differ.
    moved = _shifted_gz(gzip.decompress(content), shift_ns)
    return gzip.compress(moved, compresslevel=1, mtime=0)


def _shifted_gz(text: bytes, shift_ns: int) -> bytes:
    """A trace, whose times all count from one base, or a flight recorder's text.

    A recorder writes 0 for what it has not seen; a trace's own file name keeps its time.
    """
    return re.sub(
        rb'("(?:baseTimeNanoseconds|time_\w+_ns)": ?)([1-9]\d*)',
        lambda m: m[1] + str(int(m[2]) + shift_ns).encode(), text,
    )  # fmt: skip


def shifted_recording(name: str, text: str, *, shift_ns: int) -> str:
    """A recorded csv or jsonl text with its times moved; other texts have no time that is read."""
    if not shift_ns or name.endswith(".txt"):
        return text
    if name.endswith(".jsonl"):
        return re.sub(
            r'("(?:start|end)_ns": )(\d+)', lambda m: f"{m[1]}{int(m[2]) + shift_ns}", text
        )
    lines = text.splitlines(keepends=True)
    header = lines[0].rstrip().split(",")
    at = [i for i, column in enumerate(header) if column in {"ts_ns", "start_ns", "end_ns"}]
    for number, line in enumerate(lines[1:], start=1):
        cells = line.split(",")
        for i in at:
            cells[i] = str(int(cells[i]) + shift_ns)
        lines[number] = ",".join(cells)
    return "".join(lines)


# --- the scheduler's side -----------------------------------------------------------------------


def sacct(attempts: Sequence[Attempt]) -> str:
    """What `SLURM_TIME_FORMAT=%s sacct -a -D --parsable2 -o FIELDS` would have printed."""
    lines = ["|".join(SACCT_FIELDS)]
    for run in sorted(attempts, key=lambda a: (a.job_id, a.submit_s)):
        account = ACCOUNTS[run.job_id]
        gpus = len(run.gpu_indices)
        tres = f"cpu={16 * gpus},gres/gpu:h200={gpus},gres/gpu={gpus},mem={128 * gpus}G,node=1"
        state = "FAILED" if run.exit_code else "COMPLETED"
        work = "interactive" if run.job_id in INTERACTIVE else "batch"
        job = {
            "JobIDRaw": run.job_id, "JobID": run.job_id, "Cluster": CLUSTER,
            "User": PEOPLE[account][0], "Account": account, "Partition": PARTITION,
            "QOS": "normal", "State": state, "ExitCode": f"{run.exit_code}:0",
            "Submit": str(run.submit_s), "Eligible": str(run.submit_s), "Start": str(run.start_s),
            "End": str(run.end_s), "ElapsedRaw": str(run.end_s - run.start_s),
            "Suspended": "00:00:00", "AllocTRES": f"billing={16 * gpus},{tres}",
            "ReqTRES": f"billing={16 * gpus},{tres}", "NNodes": "1",
            "NodeList": run.machine.node, "Reason": "None", "JobName": run.name,
        }  # fmt: skip
        # Steps repeat the job's GPUs and have neither user nor partition, as sacct prints them.
        step = job | {
            "User": "", "Partition": "", "QOS": "", "ReqTRES": "", "Reason": "",
            "Submit": job["Start"], "Eligible": job["Start"],
        }  # fmt: skip
        steps = [
            step | {"AllocTRES": tres, "JobName": work},
            step | {"State": "COMPLETED", "ExitCode": "0:0", "JobName": "extern"},
        ]
        for each in steps:
            each["JobIDRaw"] = each["JobID"] = f"{run.job_id}.{each['JobName']}"
        lines += ["|".join(row[field] for field in SACCT_FIELDS) for row in (job, *steps)]
    return "\n".join(lines) + "\n"


def scontrol(attempts: Sequence[Attempt]) -> str:
    """What a prolog with `scontrol show job -d $SLURM_JOB_ID >> FILE` would have gathered (UTC)."""
    template = _template("scontrol_show_job_d.txt")
    texts = []
    for run in sorted(attempts, key=lambda a: (a.start_s, a.job_id)):
        account = ACCOUNTS[run.job_id]
        gpus, first, last = len(run.gpu_indices), run.gpu_indices[0], run.gpu_indices[-1]
        texts.append(
            template.substitute(
                job=run.job_id, name=run.name, user=PEOPLE[account][0], uid=PEOPLE[account][1],
                account=account, restarts=run.number, batch=int(run.job_id not in INTERACTIVE),
                submit=_utc(run.submit_s), start=_utc(run.start_s), limit=_utc(run.start_s + 3600),
                partition=PARTITION, node=run.machine.node, cpus=16 * gpus, mem=128 * gpus,
                mem_mb=131_072 * gpus, gpus=gpus, cpu_ids=f"{16 * first}-{16 * last + 15}",
                idx=f"{first}-{last}" if gpus > 1 else first,
            )
        )  # fmt: skip
    return "".join(texts)


def sacctmgr_event(up: Sequence[UpTime]) -> str:
    """What `sacctmgr show event -P` would have printed (UTC): no node was ever down."""
    registered = _utc(min(u.start_us for u in up) // US_PER_S)
    return (
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        f"{CLUSTER}||{registered}|Unknown||Cluster Registered TRES|\n"
    )


# --- checkpoints, inventory, teams --------------------------------------------------------------


def checkpoints(recordings: Path, *, shift_ns: int = 0) -> str:
    """The saves and the restore of job 1010, told from how long its steps took.

    A step that saves lasts its compute part and then the save. The compute part is the median of
    the attempt's other steps; the first step of the second attempt also warms up, for which the
    first attempt's first step stands.
    """
    records: list[dict[str, object]] = []
    warm_up = 0
    for number in (0, 1):
        text = (recordings / "one-gpu" / "job_1010" / f"steps_{number}.jsonl").read_text()
        steps = [json.loads(line) for line in text.splitlines()]
        spans = {s["step"]: (s["start_ns"] + shift_ns, s["end_ns"] + shift_ns) for s in steps}
        first = min(spans)
        ordinary = statistics.median_low(
            end - start for step, (start, end) in spans.items() if step % SAVE_EVERY
        )
        if number == 0:
            warm_up = spans[first][1] - spans[first][0]
        else:
            start = spans[first][0]
            records.append(_checkpoint(number, "restore", first, start - RESTORE_NS, start))
        for step, (start, end) in sorted(spans.items()):
            if step and step % SAVE_EVERY == 0:
                compute = warm_up if step == first else ordinary
                records.append(_checkpoint(number, "save", step, start + compute, end))
    return _jsonl(records)


def _checkpoint(
    attempt: int, event: str, step: int, start_ns: int, end_ns: int
) -> dict[str, object]:
    return {
        "job_id": "1010", "attempt": attempt, "event": event, "step": step,
        "start_ns": start_ns, "end_ns": end_ns, "blocking": True,
    }  # fmt: skip


def inventory(recordings: Path, up: Sequence[UpTime]) -> str:
    """Which GPU was where, and when; UUIDs and PCI addresses as nvidia-smi -q printed them."""
    columns = (
        "gpu_uuid", "slice_id", "resource_id", "cluster", "node", "gpu_index", "pci_bus_id",
        "gpu_model", "mig_profile", "start", "end",
    )  # fmt: skip
    rows = [
        {
            "gpu_uuid": uuid, "resource_id": u.machine.resource_id, "cluster": CLUSTER,
            "node": u.machine.node, "gpu_index": str(index), "pci_bus_id": bus,
            "gpu_model": model, "start": _utc_us(u.start_us), "end": _utc_us(u.end_us),
        }
        for u in up
        for index, (uuid, bus, model) in enumerate(read_gpus(recordings, u.machine))
    ]  # fmt: skip
    return _csv(columns, rows)


def teams(up: Sequence[UpTime]) -> str:
    """Scheduler accounts to teams, valid from the first day of the month in which work begins."""
    since = _utc(min(u.start_us for u in up) // US_PER_S, "%Y-%m-01T00:00:00Z")
    rows = [
        {"kind": "account", "key": name, "team": name, "cost_centre": centre, "valid_from": since}
        for name, (_, _, centre) in sorted(PEOPLE.items())
    ]
    return _csv(("kind", "key", "team", "cost_centre", "valid_from", "valid_to"), rows)


# --- the bill -----------------------------------------------------------------------------------


def bills(up: Sequence[UpTime]) -> dict[str, str]:
    """The FOCUS 1.2 bill, by file name: one file and one invoice per month of charges.

    Each clock hour of each machine has one usage line. What is charged once (traffic, support,
    commitment, credit) stands in the last hour, so that a shift changes no total. Tax is a fixed
    part of each invoice's other charges, exact at the twelve decimals that the rates lead to.
    """
    lines = [line for u in up for line in _usage(u)]
    lines += _once(max(u.by_hour()[-1][0] for u in up))
    files = {}
    for month in sorted({line["BillingPeriodStart"][:7] for line in lines}):
        own = [line for line in lines if line["BillingPeriodStart"].startswith(month)]
        base = sum((Decimal(line["BilledCost"]) for line in own), Decimal(0))
        last = max(datetime.fromisoformat(line["ChargePeriodStart"]) for line in own)
        tax = _line(
            int(last.timestamp()) * US_PER_S, "Tax", "VAT 19 %", base * TAX_RATE, ListCost="",
            ServiceName="Tax", ServiceCategory="Other", ServiceSubcategory="Other (Other)",
            ChargeFrequency="One-Time",
        )  # fmt: skip
        files[f"focus_{month}.csv"] = _csv(FOCUS_COLUMNS, [*own, tax])
    return files


def _usage(up: UpTime) -> Iterator[dict[str, str]]:
    machine = up.machine
    for hour, hours in up.by_hour():
        yield _line(
            hour, "Usage", f"{machine.instance_type}, {machine.gpus} x NVIDIA H200, on demand",
            LIST_RATE * machine.gpus * hours, **_price(LIST_RATE * machine.gpus, hours, "Hours"),
            **_compute(machine.gpus, machine.instance_type), ResourceId=machine.resource_id,
            ResourceName=machine.node, ResourceType="Virtual machine",
        )  # fmt: skip
        if machine.gpus == 1:
            yield _line(
                hour, "Usage", "Local SSD of the instance", SSD_RATE * SSD_GIB * hours,
                **_price(SSD_RATE, SSD_GIB * hours, "GiB-Hours"), ResourceId=machine.resource_id,
                ResourceName=machine.node, ResourceType="Virtual machine",
                ServiceName="Compute Engine", ServiceCategory="Storage",
                ServiceSubcategory="Block Storage", SkuId="local-ssd", SkuMeter="Local SSD",
                SkuPriceId="local-ssd-on-demand",
            )  # fmt: skip


def _once(hour: int) -> list[dict[str, str]]:
    paid = COMMITTED_RATE * COMMITTED_HOURS
    commitment = {
        "ResourceId": COMMITMENT_ID, "ResourceName": COMMITMENT_ID,
        "ResourceType": "Committed use discount", "CommitmentDiscountId": COMMITMENT_ID,
        "CommitmentDiscountName": "H200, 1 GPU", "CommitmentDiscountCategory": "Usage",
        "CommitmentDiscountType": "Committed use discount",
        "CommitmentDiscountQuantity": str(COMMITTED_HOURS), "CommitmentDiscountUnit": "Hours",
    }  # fmt: skip
    unused = _price(LIST_RATE, COMMITTED_HOURS, "Hours", contracted=COMMITTED_RATE)
    unused |= {"ConsumedQuantity": "", "ConsumedUnit": "", "PricingCategory": "Committed"}
    return [
        _line(
            hour, "Usage", "Egress to the internet", Decimal("0.085") * Decimal("1.732"),
            **_price(Decimal("0.085"), Decimal("1.732"), "GB"), ServiceName="Networking",
            ServiceCategory="Networking", ServiceSubcategory="Network Infrastructure",
            SkuId="egress", SkuMeter="Egress", SkuPriceId="egress-on-demand",
        ),
        _line(
            hour, "Purchase", "Support plan, share of the month", Decimal("0.15"),
            **_price(Decimal(150), Decimal("0.001"), "Months", consumed=False),
            ServiceName="Support", ServiceCategory="Other", ServiceSubcategory="Other (Other)",
            SkuId="support", SkuMeter="Support", SkuPriceId="support-standard",
            ChargeFrequency="Recurring",
        ),
        # The usage below carries the list value and the GPU: on both they would count twice.
        _line(
            hour, "Purchase", "Commitment of 1 H200", paid, EffectiveCost="0",
            **(_price(Decimal(0), COMMITTED_HOURS, "Hours", consumed=False) | commitment),
            **(_compute(1, "h200-1g-recorded") | {"SkuPriceDetails": ""}),
            ChargeFrequency="Recurring",
        ),
        _line(
            hour, "Usage", "Commitment of 1 H200, unused", Decimal(0), EffectiveCost=str(paid),
            **(unused | commitment), CommitmentDiscountStatus="Unused",
            **_compute(1, "h200-1g-recorded"),
        ),
        _line(
            hour, "Credit", "Promotional credit", Decimal("-0.25"), ServiceName="Promotions",
            ServiceCategory="Other", ServiceSubcategory="Other (Other)",
            ChargeFrequency="One-Time",
        ),
    ]  # fmt: skip


def _compute(gpus: int, instance_type: str) -> dict[str, str]:
    details = {"GpuCount": gpus, "InstanceType": instance_type, "x_GpuModel": "NVIDIA H200"}
    return {
        "ServiceName": "Compute Engine", "ServiceCategory": "Compute",
        "ServiceSubcategory": "Virtual Machines", "SkuId": instance_type, "SkuMeter": "GPU VM",
        "SkuPriceId": f"{instance_type}-hour", "AvailabilityZone": "us-central1-b",
        "SkuPriceDetails": json.dumps(details, separators=(",", ":")),
    }  # fmt: skip


def _price(
    rate: Decimal, quantity: Decimal, unit: str,
    *, consumed: bool = True, contracted: Decimal | None = None,
) -> dict[str, str]:  # fmt: skip
    """Unit prices, quantities and the two costs that are their exact products."""
    contract = rate if contracted is None else contracted
    return {
        "PricingQuantity": f"{quantity:f}", "PricingUnit": unit, "PricingCategory": "Standard",
        "ConsumedQuantity": f"{quantity:f}" if consumed else "",
        "ConsumedUnit": unit if consumed else "",
        "ListUnitPrice": f"{rate:f}", "ListCost": f"{rate * quantity:f}",
        "ContractedUnitPrice": f"{contract:f}", "ContractedCost": f"{contract * quantity:f}",
        "PricingCurrencyListUnitPrice": f"{rate:f}",
        "PricingCurrencyContractedUnitPrice": f"{contract:f}",
    }  # fmt: skip


def _line(
    hour_us: int, category: str, description: str, billed: Decimal, **values: str
) -> dict[str, str]:
    """One charge; costs that are not given equal the billed cost."""
    hour = hour_us // US_PER_S
    start = datetime.fromtimestamp(hour, UTC).replace(day=1, hour=0)
    end = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    cost = f"{billed:f}"
    line = {
        "BilledCost": cost, "EffectiveCost": cost, "ListCost": cost, "ContractedCost": cost,
        "BillingAccountId": "BA-H200", "BillingAccountName": "Written for the recording",
        "BillingAccountType": "Billing account", "BillingCurrency": "USD",
        "PricingCurrency": "USD", "SubAccountId": "ml-h200", "SubAccountName": "ml-h200",
        "SubAccountType": "Project", "ProviderName": "Example Cloud",
        "PublisherName": "Example Cloud", "InvoiceIssuerName": "Example Cloud",
        "InvoiceId": f"INV-H200-{start:%Y-%m}", "RegionId": "us-central1", "RegionName": "Iowa",
        "BillingPeriodStart": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        "BillingPeriodEnd": f"{end:%Y-%m-%dT%H:%M:%SZ}",
        "ChargePeriodStart": _utc(hour) + "Z", "ChargePeriodEnd": _utc(hour + 3600) + "Z",
        "ChargeCategory": category, "ChargeDescription": description,
        "ChargeFrequency": "Usage-Based",
    } | values  # fmt: skip
    return line | {"PricingCurrencyEffectiveCost": line["EffectiveCost"]}


# --- the configuration --------------------------------------------------------------------------


def configuration(recordings: Path, up: Sequence[UpTime], *, shift_ns: int = 0) -> str:
    """The commented plumbline.toml; only the exports' time and the GPUs' names are filled in.

    The exports cover a quarter of an hour, from the whole minute before the first machine came up.
    """
    recorded_s = min(u.start_us for u in up) // US_PER_S - shift_ns // 10**9
    since = recorded_s // 60 * 60 + shift_ns // 10**9
    one, two = (read_gpus(recordings, machine) for machine in MACHINES)
    return _template("plumbline.toml").substitute(
        covers_from=_utc(since) + "Z", covers_to=_utc(since + 15 * 60) + "Z",
        gpu_one=one[0][0], gpu_two_0=two[0][0], gpu_two_1=two[1][0],
    )  # fmt: skip


def written_note(names: Sequence[str]) -> str:
    """The mark for files whose formats admit no comment."""
    return (
        "WRITTEN FOR THE RECORDING by make.py, not measured or exported anywhere:\n"
        + "".join(f"  {name}\n" for name in names)
        + "README.md says by which rule. What lies below recordings/ is recorded.\n"
    )


def write(out: Path, *, recordings: Path, shift_ns: int = 0) -> list[Path]:
    """Write the example below `out` and return the files written, sorted.

    `recordings` holds the recorded folders, at their recorded times. Where it is not
    `out`/recordings, the recorded files are copied there, moved by `shift_ns` (whole seconds,
    since the scheduler's times are whole seconds and their fractions must not change).
    """
    if shift_ns % 10**9:
        raise ValueError(f"shift_ns is {shift_ns}: only whole seconds keep the floors of the times")
    attempts = read_attempts(recordings, shift_ns=shift_ns)
    up = read_up_times(recordings, shift_ns=shift_ns)
    files = {
        "slurm/sacct.psv": sacct(attempts),
        "slurm/scontrol_show_job_d.txt": scontrol(attempts),
        "slurm/sacctmgr_event.psv": sacctmgr_event(up),
        "checkpoints.jsonl": checkpoints(recordings, shift_ns=shift_ns),
        "inventory/gpu_inventory.csv": inventory(recordings, up),
        "teams.csv": teams(up),
        "plumbline.toml": configuration(recordings, up, shift_ns=shift_ns),
    }
    files |= {f"bill/{name}": text for name, text in bills(up).items()}
    recorded: dict[str, bytes] = {}
    if (out / "recordings").resolve() != recordings.resolve():
        for path in sorted(p for glob in RECORDED for p in recordings.glob(glob)):
            name = f"recordings/{path.relative_to(recordings).as_posix()}"
            recorded[name] = shifted_file(path.name, path.read_bytes(), shift_ns=shift_ns)
    elif shift_ns:
        raise ValueError("a shifted copy needs a folder of its own: give --out")
    files["WRITTEN.txt"] = written_note(sorted(files))
    for stale in {p for p in out.glob("bill/focus_*.csv") if f"bill/{p.name}" not in files}:
        stale.unlink()
    contents = {name: text.encode() for name, text in files.items()} | recorded
    for name, content in contents.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return sorted(out / name for name in contents)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write (default: here)")
    parser.add_argument(
        "--recordings", type=Path, default=HERE / "recordings", help="recorded folders"
    )
    parser.add_argument(
        "--shift-seconds", type=int, default=0, help="move every time by so many seconds"
    )
    args = parser.parse_args()
    written = write(
        args.out, recordings=args.recordings, shift_ns=args.shift_seconds * 1_000_000_000
    )
    print(f"{len(written)} files written below {args.out}")


if __name__ == "__main__":
    main()
