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

from warehouse.contract import (
    BOOL,
    FILE,
    LONG,
    MONEY,
    RATIO,
    ROW,
    TEXT,
    TEXTS,
    TIME,
    Column,
    Contract,
    optional,
    required,
)
from warehouse.trace_contracts import TRACE_TABLES

__all__ = [
    "BOOL",
    "LANDING",
    "LONG",
    "MONEY",
    "RATIO",
    "SAMPLE_FIELDS",
    "TEXT",
    "TEXTS",
    "TIME",
    "Batch",
    "Batches",
    "Column",
    "Contract",
    "SourceFile",
]

BILL_LINE = Contract(
    "bill_line",
    1,
    "one row per charge as the provider delivered it",
    ("line_id",),
    ("charge_period_start", "line_id"),
    (
        required(
            "line_id",
            TEXT,
            "",
            "hash of the charge's content and of its ordinal among equal charges",
        ),
        required("source", TEXT, "", "name of the source in the configuration"),
        optional("issuer", TEXT, "", "InvoiceIssuerName"),
        optional("invoice_id", TEXT, "", "InvoiceId; unique only together with issuer"),
        optional("billing_account_id", TEXT, "", "BillingAccountId"),
        optional("sub_account_id", TEXT, "", "SubAccountId"),
        optional("billing_period_start", TIME, "UTC", "BillingPeriodStart"),
        optional("billing_period_end", TIME, "UTC", "BillingPeriodEnd, exclusive"),
        required("charge_period_start", TIME, "UTC", "ChargePeriodStart"),
        required("charge_period_end", TIME, "UTC", "ChargePeriodEnd, exclusive"),
        required("charge_category", TEXT, "", "Usage, Purchase, Tax, Credit or Adjustment"),
        optional("charge_class", TEXT, "", "Correction or null"),
        optional("charge_description", TEXT, "", "ChargeDescription"),
        optional("charge_frequency", TEXT, "", "One-Time, Recurring or Usage-Based"),
        optional("service_name", TEXT, "", "ServiceName"),
        optional("service_category", TEXT, "", "ServiceCategory"),
        optional("sku_id", TEXT, "", "SkuId"),
        optional("sku_meter", TEXT, "", "SkuMeter"),
        optional("region_id", TEXT, "", "RegionId"),
        optional("resource_id", TEXT, "", "ResourceId; ties the charge to gpu_inventory"),
        optional("resource_name", TEXT, "", "ResourceName"),
        optional("resource_type", TEXT, "", "ResourceType"),
        optional(
            "instance_type", TEXT, "", "SkuPriceDetails InstanceType; key of the seed instance_type"
        ),
        optional(
            "sku_gpu_count",
            pa.decimal128(18, 6),
            "GPUs",
            "SkuPriceDetails GpuCount, per pricing unit",
        ),
        optional("commitment_discount_id", TEXT, "", "CommitmentDiscountId"),
        optional("commitment_discount_status", TEXT, "", "Used, Unused or null"),
        optional(
            "quantity_hours",
            MONEY,
            "h",
            "ConsumedQuantity, else CommitmentDiscountQuantity, else "
            "PricingQuantity; null where its unit is not a time",
        ),
        optional(
            "quantity_basis", TEXT, "", "which quantity it is: consumed, commitment or pricing"
        ),
        required("billed_usd", MONEY, "USD", "BilledCost: what the invoice asks for"),
        required("effective_usd", MONEY, "USD", "EffectiveCost: the accrual view"),
        optional("list_usd", MONEY, "USD", "ListCost; where it is absent see list_basis"),
        required("list_basis", TEXT, "", "delivered, credit, tax, covered_purchase or absent"),
        optional(
            "bill_team", TEXT, "", "value of the tag that the configuration names as the team's"
        ),
        optional("tags_json", TEXT, "", "Tags as delivered"),
        FILE,
        ROW,
    ),
)

BILL_SNAPSHOT = Contract(
    "bill_snapshot",
    1,
    "one row per bill file as it was read",
    ("source_file",),
    ("source_file",),
    (
        required("source", TEXT, "", "name of the source in the configuration"),
        FILE,
        required("sha256", TEXT, "", "hash of the file's bytes"),
        required("row_count", LONG, "rows", "charges read"),
        required("reject_count", LONG, "rows", "charges that could not be read"),
        optional("billing_period_start", TIME, "UTC", "earliest BillingPeriodStart"),
        optional("billing_period_end", TIME, "UTC", "latest BillingPeriodEnd"),
        required("billed_usd", MONEY, "USD", "sum of the charges read"),
        optional("focus_version", TEXT, "", "FOCUS version whose columns the file has"),
    ),
)

TEAM_MAP = Contract(
    "team_map",
    1,
    "one row per name that maps to a team, in time",
    ("kind", "key", "valid_from"),
    ("kind", "key", "valid_from"),
    (
        required("kind", TEXT, "", "account (scheduler), bill_tag, namespace or label"),
        required("key", TEXT, "", "the name as the source writes it"),
        required("team", TEXT, "", "team that holds what carries the name"),
        optional("cost_centre", TEXT, "", "cost centre of finance"),
        required("valid_from", TIME, "UTC", "first instant at which the row counts"),
        optional("valid_to", TIME, "UTC", "end, exclusive; null is open"),
        FILE,
        ROW,
    ),
)

GPU_INVENTORY = Contract(
    "gpu_inventory",
    1,
    "one row per GPU or MIG slice and time in which it was the same thing in the same place",
    ("gpu_uuid", "slice_id", "start"),
    ("gpu_uuid", "slice_id", "start"),
    (
        required("gpu_uuid", TEXT, "", "the key of a GPU"),
        optional("slice_id", TEXT, "", "MIG slice; null is the whole GPU"),
        optional("resource_id", TEXT, "", "ResourceId of the bill that pays for it"),
        optional("cluster", TEXT, "", "scheduler's cluster name"),
        optional("node", TEXT, "", "scheduler's node name"),
        optional("gpu_index", LONG, "", "index of the GPU on its node, as the scheduler counts"),
        optional("pci_bus_id", TEXT, "", "PCI address"),
        optional("gpu_model", TEXT, "", "model as the driver names it"),
        optional("mig_profile", TEXT, "", "MIG profile of the slice"),
        required("start", TIME, "UTC", "start of the interval"),
        optional("end", TIME, "UTC", "end, exclusive; null is still there"),
        FILE,
        ROW,
    ),
)

SOURCE_COVERAGE = Contract(
    "source_coverage",
    1,
    "one row per stretch of time that a source was read for, or that a reject cuts out of it",
    ("source_file", "source_row", "source", "cluster", "node"),
    ("source", "source_file", "source_row", "cluster", "node"),
    (
        required(
            "source", TEXT, "", "scheduler, node_event, telemetry, steps, checkpoints or bill"
        ),
        optional("cluster", TEXT, "", "cluster; null is every cluster"),
        optional("node", TEXT, "", "node; null is every node of the cluster"),
        optional("job_id", TEXT, "", "job whose step log it is; null is every job"),
        optional("attempt", LONG, "", "attempt whose step log it is; null is every attempt"),
        required("start", TIME, "UTC", "start of the stretch"),
        required("end", TIME, "UTC", "end, exclusive"),
        required("is_cut", BOOL, "", "true where a reject makes the source blind for this stretch"),
        FILE,
        ROW,
    ),
)

JOB_ATTEMPT = Contract(
    "job_attempt",
    1,
    "one row per incarnation of a job as one accounting export shows it",
    ("cluster", "job_id", "submit", "source_file", "source_row"),
    ("cluster", "job_id", "submit", "source_file", "source_row"),
    (
        required("cluster", TEXT, "", "scheduler's cluster name"),
        required("job_id", TEXT, "", "raw job id (JobIDRaw)"),
        optional("job_label", TEXT, "", "job id as people write it, such as 13_5 or 16+1"),
        required("submit", TIME, "UTC", "submit, or requeue of this incarnation"),
        optional("start", TIME, "UTC", "start; null where it never started"),
        optional("end", TIME, "UTC", "end; null while it runs or never started"),
        required("state", TEXT, "", "state's first word: COMPLETED, FAILED, NODE_FAIL, ..."),
        optional("exit_code", LONG, "", "exit code"),
        optional("signal", LONG, "", "signal that ended it"),
        optional("user_name", TEXT, "", "user, hashed where the configuration says so"),
        optional("account", TEXT, "", "scheduler account; maps to a team"),
        optional("partition", TEXT, "", "partition"),
        optional("qos", TEXT, "", "quality of service"),
        optional("job_name", TEXT, "", "job name"),
        required("gpu_count", LONG, "GPUs", "GPUs allocated over all nodes; 0 where none"),
        optional("gpu_types", TEXT, "", "allocated GPUs by type, such as h100=2,a100=4"),
        required("nodes", TEXTS, "", "nodes, in the scheduler's order"),
        required("suspended_us", LONG, "us", "time suspended while the GPUs stayed held"),
        required("is_interactive", BOOL, "", "true where the allocation has an interactive step"),
        FILE,
        ROW,
    ),
)

JOB_GPU = Contract(
    "job_gpu",
    1,
    "one row per GPU index that an attempt held on a node, as a snapshot of the scheduler shows it",
    ("cluster", "job_id", "start", "node", "gpu_index", "source_file"),
    ("cluster", "job_id", "start", "node", "gpu_index", "source_file"),
    (
        required("cluster", TEXT, "", "scheduler's cluster name"),
        required("job_id", TEXT, "", "raw job id"),
        required("start", TIME, "UTC", "start of the attempt; ties the row to job_attempt"),
        required("node", TEXT, "", "node"),
        required("gpu_index", LONG, "", "index in the scheduler's order; ties to gpu_inventory"),
        optional("gpu_type", TEXT, "", "GPU type in the scheduler's words"),
        FILE,
        ROW,
    ),
)

NODE_EVENT = Contract(
    "node_event",
    1,
    "one row per time in which a node or GPU was not fit for work",
    ("cluster", "node", "gpu_uuid", "start", "kind", "source_file"),
    ("cluster", "node", "gpu_uuid", "start", "kind", "source_file"),
    (
        required("cluster", TEXT, "", "scheduler's cluster name"),
        required("node", TEXT, "", "node"),
        optional("gpu_uuid", TEXT, "", "the one GPU that is meant; null is the whole node"),
        required("start", TIME, "UTC", "start"),
        optional("end", TIME, "UTC", "end, exclusive; null is still so"),
        required(
            "kind",
            TEXT,
            "",
            "down, fatal_xid (always count); drain, maintenance, boot (only unheld)",
        ),
        optional(
            "sub", TEXT, "", "provider_fault, own_maintenance or boot where the record proves it"
        ),
        optional("state", TEXT, "", "state as the source writes it"),
        optional("reason", TEXT, "", "reason as the source writes it"),
        FILE,
        ROW,
    ),
)

GPU_SAMPLE = Contract(
    "gpu_sample",
    1,
    "one row per GPU or MIG slice and sample",
    ("gpu_uuid", "slice_id", "ts", "source_file"),
    ("gpu_uuid", "slice_id", "ts", "source_file", "source_row"),
    (
        required("gpu_uuid", TEXT, "", "GPU"),
        optional("slice_id", TEXT, "", "MIG slice; null is the whole GPU"),
        required("ts", TIME, "UTC", "end of the time that the sample speaks for"),
        required("period_us", LONG, "us", "nominal time between samples of this file"),
        optional(
            "gpu_util_ratio",
            RATIO,
            "ratio",
            "GPU-Util (NVML, DCGM 203): presence, never used as work",
        ),
        optional(
            "engine_active_ratio", RATIO, "ratio", "graphics or compute engine active (DCGM 1001)"
        ),
        optional("sm_active_ratio", RATIO, "ratio", "SM active (DCGM 1002)"),
        optional("sm_occupancy_ratio", RATIO, "ratio", "SM occupancy (DCGM 1003)"),
        optional("tensor_active_ratio", RATIO, "ratio", "any tensor pipe active (DCGM 1004)"),
        optional("dram_active_ratio", RATIO, "ratio", "memory interface active (DCGM 1005)"),
        optional("fp64_active_ratio", RATIO, "ratio", "FP64 pipe active (DCGM 1006)"),
        optional("fp32_active_ratio", RATIO, "ratio", "FP32 pipe active (DCGM 1007)"),
        optional("fp16_active_ratio", RATIO, "ratio", "FP16 pipe active (DCGM 1008)"),
        optional("pcie_tx_bytes_s", LONG, "B/s", "PCIe device to host (DCGM 1009)"),
        optional("pcie_rx_bytes_s", LONG, "B/s", "PCIe host to device (DCGM 1010)"),
        optional("nvlink_tx_bytes_s", LONG, "B/s", "NVLink sent (DCGM 1011)"),
        optional("nvlink_rx_bytes_s", LONG, "B/s", "NVLink received (DCGM 1012)"),
        optional("power_watts", RATIO, "W", "board power (DCGM 155)"),
        optional("energy_mj", LONG, "mJ", "energy counter since the driver was loaded (DCGM 156)"),
        optional("fb_used_bytes", LONG, "B", "frame buffer used (DCGM 252)"),
        optional("sm_clock_mhz", LONG, "MHz", "SM clock (DCGM 100)"),
        optional("temp_c", LONG, "C", "GPU temperature (DCGM 150)"),
        required(
            "invalid_mask",
            LONG,
            "bits",
            "bit k: the k-th of these measured columns, counted from "
            "gpu_util_ratio = 0, was delivered but is no valid reading",
        ),
        FILE,
        ROW,
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
        optional("cluster", TEXT, "", "scheduler's cluster name"),
        required("job_id", TEXT, "", "raw job id"),
        optional("attempt", LONG, "", "attempt as the log says; null: found by time"),
        optional("rank", LONG, "", "rank; null speaks for the whole job"),
        required("step", LONG, "", "number of the step"),
        required("start_ns", LONG, "ns", "start, epoch"),
        required("end_ns", LONG, "ns", "end, epoch, exclusive"),
        optional(
            "tokens",
            LONG,
            "tokens",
            "tokens of this rank in the step; of the job where rank is null",
        ),
        optional(
            "model_flops",
            pa.decimal128(38, 0),
            "FLOP",
            "model FLOPs of this rank; of the job where rank is null",
        ),
        optional("loss", pa.float64(), "", "loss"),
        optional(
            "dtype", TEXT, "", "number format of the matrix products; null: the configuration's"
        ),
        FILE,
        ROW,
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
        optional("cluster", TEXT, "", "scheduler's cluster name"),
        required("job_id", TEXT, "", "raw job id"),
        required("attempt", LONG, "", "attempt that saved or restored"),
        required("event", TEXT, "", "save or restore"),
        required("step", LONG, "", "last step whose result the checkpoint holds"),
        required("start_ns", LONG, "ns", "start, epoch"),
        required("end_ns", LONG, "ns", "end, epoch: when a save is durable"),
        required("blocking", BOOL, "", "true where training waits for it"),
        FILE,
        ROW,
    ),
)

POLICY_WINDOW = Contract(
    "policy_window",
    1,
    "one row per dated exception that a named owner has approved",
    ("kind", "owner", "start", "source_row"),
    ("start", "kind", "owner", "source_row"),
    (
        required("kind", TEXT, "", "maintenance, reserve, exempt_idle or dispute"),
        required("owner", TEXT, "", "who approved it"),
        optional("cluster", TEXT, "", "null is every cluster"),
        optional("node", TEXT, "", "null is every node"),
        optional("account", TEXT, "", "null is every account"),
        optional("job_id", TEXT, "", "null is every job"),
        required("start", TIME, "UTC", "start"),
        required("end", TIME, "UTC", "end, exclusive"),
        optional("note", TEXT, "", "reason"),
        FILE,
        ROW,
    ),
)

REJECT = Contract(
    "reject",
    1,
    "one row per record that could not be read",
    ("source", "file", "position"),
    ("source", "file", "position", "reason"),
    (
        required("source", TEXT, "", "kind of the source"),
        required("file", TEXT, "", "file, relative to the configuration"),
        required("position", TEXT, "", "where in the file, such as 'line 17'"),
        required("reason", TEXT, "", "what was found and what was expected"),
        required("raw", TEXT, "", "the record's first 500 characters"),
    ),
)

LANDING: dict[str, Contract] = {
    c.name: c
    for c in (
        BILL_LINE, BILL_SNAPSHOT, TEAM_MAP, GPU_INVENTORY, SOURCE_COVERAGE, JOB_ATTEMPT, JOB_GPU,
        NODE_EVENT, GPU_SAMPLE, TRAIN_STEP, CHECKPOINT, POLICY_WINDOW, *TRACE_TABLES, REJECT,
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
