"""The landing tables: what ingest may write, declared once.

Docs, readers, writers and tests take grain, keys, columns, units and sort order from here.
A contract is changed by raising `version`; it stands in the metadata of each Parquet file.

Time: half-open `[start, end)`, UTC. Human scale is TIMESTAMP WITH TIME ZONE in microseconds, trace
scale is BIGINT epoch nanoseconds in a column that ends in `_ns`. Money is DECIMAL(38,12).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
MONEY = pa.decimal128(38, 12)
TEXT = pa.string()
LONG = pa.int64()
RATIO = pa.float32()
BOOL = pa.bool_()
TEXTS = pa.list_(pa.string())


@dataclass(frozen=True)
class Column:
    """One column: Arrow type, unit ('' where none applies), meaning, whether null is allowed."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    nullable: bool = True


@dataclass(frozen=True)
class Contract:
    """One landing table.

    `key` identifies a row within the table. `time` names the column whose UTC day decides the
    partition of a row (None: one partition for the whole source file). `order` is the sort order
    of each file; it ends in a unique key, so that equal input gives equal bytes.
    """

    name: str
    version: int
    grain: str
    key: tuple[str, ...]
    order: tuple[str, ...]
    columns: tuple[Column, ...]
    time: str | None = None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, in declared order, with units and meanings as field metadata."""
        return pa.schema(
            [
                pa.field(c.name, c.type, c.nullable, {"unit": c.unit, "meaning": c.meaning})
                for c in self.columns
            ]
        )


def _c(name: str, type_: pa.DataType, unit: str, meaning: str) -> Column:
    return Column(name, type_, unit, meaning)


def _k(name: str, type_: pa.DataType, unit: str, meaning: str) -> Column:
    return Column(name, type_, unit, meaning, nullable=False)


_FILE = _k("source_file", TEXT, "", "path of the source file, relative to the configuration")
_ROW = _k("source_row", LONG, "", "line (text) or record number in the file, from 1")

BILL_LINE = Contract(
    "bill_line",
    1,
    "one row per charge as the provider delivered it",
    ("line_id",),
    ("charge_period_start", "line_id"),
    (
        _k(
            "line_id",
            TEXT,
            "",
            "hash of the charge's content and of its ordinal among equal charges",
        ),
        _k("source", TEXT, "", "name of the source in the configuration"),
        _c("issuer", TEXT, "", "InvoiceIssuerName"),
        _c("invoice_id", TEXT, "", "InvoiceId; unique only together with issuer"),
        _c("billing_account_id", TEXT, "", "BillingAccountId"),
        _c("sub_account_id", TEXT, "", "SubAccountId"),
        _c("billing_period_start", TIME, "UTC", "BillingPeriodStart"),
        _c("billing_period_end", TIME, "UTC", "BillingPeriodEnd, exclusive"),
        _k("charge_period_start", TIME, "UTC", "ChargePeriodStart"),
        _k("charge_period_end", TIME, "UTC", "ChargePeriodEnd, exclusive"),
        _k("charge_category", TEXT, "", "Usage, Purchase, Tax, Credit or Adjustment"),
        _c("charge_class", TEXT, "", "Correction or null"),
        _c("charge_description", TEXT, "", "ChargeDescription"),
        _c("charge_frequency", TEXT, "", "One-Time, Recurring or Usage-Based"),
        _c("service_name", TEXT, "", "ServiceName"),
        _c("service_category", TEXT, "", "ServiceCategory"),
        _c("sku_id", TEXT, "", "SkuId"),
        _c("sku_meter", TEXT, "", "SkuMeter"),
        _c("region_id", TEXT, "", "RegionId"),
        _c("resource_id", TEXT, "", "ResourceId; ties the charge to gpu_inventory"),
        _c("resource_name", TEXT, "", "ResourceName"),
        _c("resource_type", TEXT, "", "ResourceType"),
        _c(
            "instance_type", TEXT, "", "SkuPriceDetails InstanceType; key of the seed instance_type"
        ),
        _c(
            "sku_gpu_count",
            pa.decimal128(18, 6),
            "GPUs",
            "SkuPriceDetails GpuCount, per pricing unit",
        ),
        _c("commitment_discount_id", TEXT, "", "CommitmentDiscountId"),
        _c("commitment_discount_status", TEXT, "", "Used, Unused or null"),
        _c(
            "quantity_hours",
            MONEY,
            "h",
            "ConsumedQuantity, else CommitmentDiscountQuantity, else "
            "PricingQuantity; null where its unit is not a time",
        ),
        _c("quantity_basis", TEXT, "", "which quantity it is: consumed, commitment or pricing"),
        _k("billed_usd", MONEY, "USD", "BilledCost: what the invoice asks for"),
        _k("effective_usd", MONEY, "USD", "EffectiveCost: the accrual view"),
        _c("list_usd", MONEY, "USD", "ListCost; where it is absent see list_basis"),
        _k("list_basis", TEXT, "", "delivered, credit, tax, covered_purchase or absent"),
        _c("bill_team", TEXT, "", "value of the tag that the configuration names as the team's"),
        _c("tags_json", TEXT, "", "Tags as delivered"),
        _FILE,
        _ROW,
    ),
)

BILL_SNAPSHOT = Contract(
    "bill_snapshot",
    1,
    "one row per bill file as it was read",
    ("source_file",),
    ("source_file",),
    (
        _k("source", TEXT, "", "name of the source in the configuration"),
        _FILE,
        _k("sha256", TEXT, "", "hash of the file's bytes"),
        _k("row_count", LONG, "rows", "charges read"),
        _k("reject_count", LONG, "rows", "charges that could not be read"),
        _c("billing_period_start", TIME, "UTC", "earliest BillingPeriodStart"),
        _c("billing_period_end", TIME, "UTC", "latest BillingPeriodEnd"),
        _k("billed_usd", MONEY, "USD", "sum of the charges read"),
        _c("focus_version", TEXT, "", "FOCUS version whose columns the file has"),
    ),
)

TEAM_MAP = Contract(
    "team_map",
    1,
    "one row per name that maps to a team, in time",
    ("kind", "key", "valid_from"),
    ("kind", "key", "valid_from"),
    (
        _k("kind", TEXT, "", "account (scheduler), bill_tag, namespace or label"),
        _k("key", TEXT, "", "the name as the source writes it"),
        _k("team", TEXT, "", "team that holds what carries the name"),
        _c("cost_centre", TEXT, "", "cost centre of finance"),
        _k("valid_from", TIME, "UTC", "first instant at which the row counts"),
        _c("valid_to", TIME, "UTC", "end, exclusive; null is open"),
        _FILE,
        _ROW,
    ),
)

GPU_INVENTORY = Contract(
    "gpu_inventory",
    1,
    "one row per GPU or MIG slice and time in which it was the same thing in the same place",
    ("gpu_uuid", "slice_id", "start"),
    ("gpu_uuid", "slice_id", "start"),
    (
        _k("gpu_uuid", TEXT, "", "the key of a GPU"),
        _c("slice_id", TEXT, "", "MIG slice; null is the whole GPU"),
        _c("resource_id", TEXT, "", "ResourceId of the bill that pays for it"),
        _c("cluster", TEXT, "", "scheduler's cluster name"),
        _c("node", TEXT, "", "scheduler's node name"),
        _c("gpu_index", LONG, "", "index of the GPU on its node, as the scheduler counts"),
        _c("pci_bus_id", TEXT, "", "PCI address"),
        _c("gpu_model", TEXT, "", "model as the driver names it"),
        _c("mig_profile", TEXT, "", "MIG profile of the slice"),
        _k("start", TIME, "UTC", "start of the interval"),
        _c("end", TIME, "UTC", "end, exclusive; null is still there"),
        _FILE,
        _ROW,
    ),
)

SOURCE_COVERAGE = Contract(
    "source_coverage",
    1,
    "one row per stretch of time that a source was read for, or that a reject cuts out of it",
    ("source_file", "source_row", "source", "cluster", "node"),
    ("source", "source_file", "source_row", "cluster", "node"),
    (
        _k("source", TEXT, "", "scheduler, node_event, telemetry, steps, checkpoints or bill"),
        _c("cluster", TEXT, "", "cluster; null is every cluster"),
        _c("node", TEXT, "", "node; null is every node of the cluster"),
        _c("job_id", TEXT, "", "job whose step log it is; null is every job"),
        _c("attempt", LONG, "", "attempt whose step log it is; null is every attempt"),
        _k("start", TIME, "UTC", "start of the stretch"),
        _k("end", TIME, "UTC", "end, exclusive"),
        _k("is_cut", BOOL, "", "true where a reject makes the source blind for this stretch"),
        _FILE,
        _ROW,
    ),
)

JOB_ATTEMPT = Contract(
    "job_attempt",
    1,
    "one row per incarnation of a job as one accounting export shows it",
    ("cluster", "job_id", "submit", "source_file", "source_row"),
    ("cluster", "job_id", "submit", "source_file", "source_row"),
    (
        _k("cluster", TEXT, "", "scheduler's cluster name"),
        _k("job_id", TEXT, "", "raw job id (JobIDRaw)"),
        _c("job_label", TEXT, "", "job id as people write it, such as 13_5 or 16+1"),
        _k("submit", TIME, "UTC", "submit, or requeue of this incarnation"),
        _c("start", TIME, "UTC", "start; null where it never started"),
        _c("end", TIME, "UTC", "end; null while it runs or never started"),
        _k("state", TEXT, "", "state's first word: COMPLETED, FAILED, NODE_FAIL, ..."),
        _c("exit_code", LONG, "", "exit code"),
        _c("signal", LONG, "", "signal that ended it"),
        _c("user_name", TEXT, "", "user, hashed where the configuration says so"),
        _c("account", TEXT, "", "scheduler account; maps to a team"),
        _c("partition", TEXT, "", "partition"),
        _c("qos", TEXT, "", "quality of service"),
        _c("job_name", TEXT, "", "job name"),
        _k("gpu_count", LONG, "GPUs", "GPUs allocated over all nodes; 0 where none"),
        _c("gpu_types", TEXT, "", "allocated GPUs by type, such as h100=2,a100=4"),
        _k("nodes", TEXTS, "", "nodes, in the scheduler's order"),
        _k("suspended_us", LONG, "us", "time suspended while the GPUs stayed held"),
        _k("is_interactive", BOOL, "", "true where the allocation has an interactive step"),
        _FILE,
        _ROW,
    ),
)

JOB_GPU = Contract(
    "job_gpu",
    1,
    "one row per GPU index that an attempt held on a node, as a snapshot of the scheduler shows it",
    ("cluster", "job_id", "start", "node", "gpu_index", "source_file"),
    ("cluster", "job_id", "start", "node", "gpu_index", "source_file"),
    (
        _k("cluster", TEXT, "", "scheduler's cluster name"),
        _k("job_id", TEXT, "", "raw job id"),
        _k("start", TIME, "UTC", "start of the attempt; ties the row to job_attempt"),
        _k("node", TEXT, "", "node"),
        _k("gpu_index", LONG, "", "index in the scheduler's order; ties to gpu_inventory"),
        _c("gpu_type", TEXT, "", "GPU type in the scheduler's words"),
        _FILE,
        _ROW,
    ),
)

NODE_EVENT = Contract(
    "node_event",
    1,
    "one row per time in which a node or GPU was not fit for work",
    ("cluster", "node", "gpu_uuid", "start", "kind", "source_file"),
    ("cluster", "node", "gpu_uuid", "start", "kind", "source_file"),
    (
        _k("cluster", TEXT, "", "scheduler's cluster name"),
        _k("node", TEXT, "", "node"),
        _c("gpu_uuid", TEXT, "", "the one GPU that is meant; null is the whole node"),
        _k("start", TIME, "UTC", "start"),
        _c("end", TIME, "UTC", "end, exclusive; null is still so"),
        _k(
            "kind",
            TEXT,
            "",
            "down, fatal_xid (always count); drain, maintenance, boot (only unheld)",
        ),
        _c("sub", TEXT, "", "provider_fault, own_maintenance or boot where the record proves it"),
        _c("state", TEXT, "", "state as the source writes it"),
        _c("reason", TEXT, "", "reason as the source writes it"),
        _FILE,
        _ROW,
    ),
)

GPU_SAMPLE = Contract(
    "gpu_sample",
    1,
    "one row per GPU or MIG slice and sample",
    ("gpu_uuid", "slice_id", "ts", "source_file"),
    ("gpu_uuid", "slice_id", "ts", "source_file", "source_row"),
    (
        _k("gpu_uuid", TEXT, "", "GPU"),
        _c("slice_id", TEXT, "", "MIG slice; null is the whole GPU"),
        _k("ts", TIME, "UTC", "end of the time that the sample speaks for"),
        _k("period_us", LONG, "us", "nominal time between samples of this file"),
        _c(
            "gpu_util_ratio",
            RATIO,
            "ratio",
            "GPU-Util (NVML, DCGM 203): presence, never used as work",
        ),
        _c("engine_active_ratio", RATIO, "ratio", "graphics or compute engine active (DCGM 1001)"),
        _c("sm_active_ratio", RATIO, "ratio", "SM active (DCGM 1002)"),
        _c("sm_occupancy_ratio", RATIO, "ratio", "SM occupancy (DCGM 1003)"),
        _c("tensor_active_ratio", RATIO, "ratio", "any tensor pipe active (DCGM 1004)"),
        _c("dram_active_ratio", RATIO, "ratio", "memory interface active (DCGM 1005)"),
        _c("fp64_active_ratio", RATIO, "ratio", "FP64 pipe active (DCGM 1006)"),
        _c("fp32_active_ratio", RATIO, "ratio", "FP32 pipe active (DCGM 1007)"),
        _c("fp16_active_ratio", RATIO, "ratio", "FP16 pipe active (DCGM 1008)"),
        _c("pcie_tx_bytes_s", LONG, "B/s", "PCIe device to host (DCGM 1009)"),
        _c("pcie_rx_bytes_s", LONG, "B/s", "PCIe host to device (DCGM 1010)"),
        _c("nvlink_tx_bytes_s", LONG, "B/s", "NVLink sent (DCGM 1011)"),
        _c("nvlink_rx_bytes_s", LONG, "B/s", "NVLink received (DCGM 1012)"),
        _c("power_watts", RATIO, "W", "board power (DCGM 155)"),
        _c("energy_mj", LONG, "mJ", "energy counter since the driver was loaded (DCGM 156)"),
        _c("fb_used_bytes", LONG, "B", "frame buffer used (DCGM 252)"),
        _c("sm_clock_mhz", LONG, "MHz", "SM clock (DCGM 100)"),
        _c("temp_c", LONG, "C", "GPU temperature (DCGM 150)"),
        _k(
            "invalid_mask",
            LONG,
            "bits",
            "bit k: the k-th of these measured columns, counted from "
            "gpu_util_ratio = 0, was delivered but is no valid reading",
        ),
        _FILE,
        _ROW,
    ),
    time="ts",
)

TRAIN_STEP = Contract(
    "train_step",
    1,
    "one row per rank and step that the job itself logged",
    ("job_id", "attempt", "rank", "step", "start_ns", "source_file"),
    ("job_id", "attempt", "rank", "start_ns", "source_file", "source_row"),
    (
        _c("cluster", TEXT, "", "scheduler's cluster name"),
        _k("job_id", TEXT, "", "raw job id"),
        _c("attempt", LONG, "", "attempt as the log says; null: found by time"),
        _c("rank", LONG, "", "rank; null speaks for the whole job"),
        _k("step", LONG, "", "number of the step"),
        _k("start_ns", LONG, "ns", "start, epoch"),
        _k("end_ns", LONG, "ns", "end, epoch, exclusive"),
        _c(
            "tokens",
            LONG,
            "tokens",
            "tokens of this rank in the step; of the job where rank is null",
        ),
        _c(
            "model_flops",
            pa.decimal128(38, 0),
            "FLOP",
            "model FLOPs of this rank; of the job where rank is null",
        ),
        _c("loss", pa.float64(), "", "loss"),
        _c("dtype", TEXT, "", "number format of the matrix products; null: the configuration's"),
        _FILE,
        _ROW,
    ),
    time="start_ns",
)

CHECKPOINT = Contract(
    "checkpoint",
    1,
    "one row per checkpoint that was saved or restored",
    ("job_id", "attempt", "event", "step", "start_ns", "source_file"),
    ("job_id", "attempt", "start_ns", "event", "step", "source_file", "source_row"),
    (
        _c("cluster", TEXT, "", "scheduler's cluster name"),
        _k("job_id", TEXT, "", "raw job id"),
        _k("attempt", LONG, "", "attempt that saved or restored"),
        _k("event", TEXT, "", "save or restore"),
        _k("step", LONG, "", "last step whose result the checkpoint holds"),
        _k("start_ns", LONG, "ns", "start, epoch"),
        _k("end_ns", LONG, "ns", "end, epoch: when a save is durable"),
        _k("blocking", BOOL, "", "true where training waits for it"),
        _FILE,
        _ROW,
    ),
)

POLICY_WINDOW = Contract(
    "policy_window",
    1,
    "one row per dated exception that a named owner has approved",
    ("kind", "owner", "start", "source_row"),
    ("start", "kind", "owner", "source_row"),
    (
        _k("kind", TEXT, "", "maintenance, reserve, exempt_idle or dispute"),
        _k("owner", TEXT, "", "who approved it"),
        _c("cluster", TEXT, "", "null is every cluster"),
        _c("node", TEXT, "", "null is every node"),
        _c("account", TEXT, "", "null is every account"),
        _c("job_id", TEXT, "", "null is every job"),
        _k("start", TIME, "UTC", "start"),
        _k("end", TIME, "UTC", "end, exclusive"),
        _c("note", TEXT, "", "reason"),
        _FILE,
        _ROW,
    ),
)

REJECT = Contract(
    "reject",
    1,
    "one row per record that could not be read",
    ("source", "file", "position"),
    ("source", "file", "position", "reason"),
    (
        _k("source", TEXT, "", "kind of the source"),
        _k("file", TEXT, "", "file, relative to the configuration"),
        _k("position", TEXT, "", "where in the file, such as 'line 17'"),
        _k("reason", TEXT, "", "what was found and what was expected"),
        _k("raw", TEXT, "", "the record's first 500 characters"),
    ),
)

LANDING: dict[str, Contract] = {
    c.name: c
    for c in (
        BILL_LINE, BILL_SNAPSHOT, TEAM_MAP, GPU_INVENTORY, SOURCE_COVERAGE, JOB_ATTEMPT, JOB_GPU,
        NODE_EVENT, GPU_SAMPLE, TRAIN_STEP, CHECKPOINT, POLICY_WINDOW, REJECT,
    )
}  # fmt: skip

#: The measured columns of gpu_sample, in the order of the bits of invalid_mask.
SAMPLE_FIELDS: tuple[str, ...] = tuple(
    c.name
    for c in GPU_SAMPLE.columns
    if c.name
    not in {"gpu_uuid", "slice_id", "ts", "period_us", "invalid_mask", "source_file", "source_row"}
)


@dataclass(frozen=True)
class Batch:
    """Rows of one landing table, in the contract's schema."""

    table: str
    rows: pa.RecordBatch


@dataclass(frozen=True)
class SourceFile:
    """One file that ingest is asked to read.

    `path` is where to open it, `name` is how it is written in tables (relative to the
    configuration), `source` the configured name, `cluster` the scheduler's cluster, `covers` the
    time for which the export was asked (epoch ns, None where unknown), and `options` the rest of
    the source's configuration.
    """

    path: str
    name: str
    source: str
    cluster: str | None
    covers: tuple[int, int] | None
    options: dict[str, object]


Batches = Iterator[Batch]
