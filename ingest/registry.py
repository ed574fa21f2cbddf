"""Every kind of source that Plumbline reads: one line a kind, its reader imported when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from warehouse.contracts import Batch, SourceFile

Reader = Callable[[SourceFile], Iterator[Batch]]


@dataclass(frozen=True)
class Kind:
    """A kind of source.

    `module` has `read`, `EXPORT` (the exact command that exports it from a real cluster), `OPTIONS`
    and `read_options` (ingest/options.py).
    `grade` is the evidence grade that it makes possible, `gives` what is lost without it.
    `version` is raised when the reader gives other rows for the same bytes: files are read again.
    `instead_of` is a kind that gives the same: one of the two is enough. Without one that
    `is_needed` there is no team's bill to close; the others prove more of it.
    """

    name: str
    module: str
    version: int
    grade: str
    gives: str
    instead_of: str | None = None
    is_needed: bool = False

    @property
    def read(self) -> Reader:
        """The reader: yields batches of landing tables, rejects and coverage among them."""
        reader: Reader = import_module(self.module).read
        return reader

    @property
    def export(self) -> str:
        """How to export such a source from a real cluster."""
        text: str = import_module(self.module).EXPORT
        return text

    @property
    def options(self) -> dict[str, str]:
        """The keys of a [[source]] that this kind alone has, with their meaning."""
        options: dict[str, str] = import_module(self.module).OPTIONS
        return options

    def check(self, source: SourceFile) -> None:
        """ConfigError where a source's options, or its cluster, cannot be; reads no file."""
        import_module(self.module).read_options(source)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("focus_csv", "ingest.bills.focus_csv", 2, "E0",
             "the bill: without it there is nothing to divide", is_needed=True),
        Kind("gpu_inventory", "ingest.inventory", 1, "E1",
             "which GPU each bill line pays: without it all GPU-time is billed_not_seen",
             is_needed=True),
        Kind("sacct", "ingest.jobs.sacct", 1, "E1",
             "who held GPUs, and when nobody did: without it nothing is unallocated or a job's",
             is_needed=True),
        Kind("scontrol_job", "ingest.jobs.scontrol", 1, "E1",
             "which GPUs of a shared node a job held: without it only whole nodes are known"),
        Kind("sacctmgr_event", "ingest.jobs.sacctmgr", 1, "E1",
             "when nodes were down, drained or in maintenance"),
        Kind("nvml_csv", "ingest.counters.nvml_csv", 2, "E2",
             "what the GPUs did: without it held time outside logged steps is not_observed"),
        Kind("prometheus", "ingest.counters.prometheus", 1, "E2",
             "the same from dcgm-exporter's series in a Prometheus", instead_of="nvml_csv"),
        Kind("openmetrics", "ingest.counters.openmetrics", 1, "E2",
             "the same from exporters' text, and from a Prometheus' own files",
             instead_of="nvml_csv"),
        Kind("nvidia_smi", "ingest.counters.nvidia_smi", 1, "E2",
             "GPU-Util, power and memory alone, of nvidia-smi's tables", instead_of="nvml_csv"),
        Kind("step_log", "ingest.steps.step_log", 1, "E1",
             "the jobs' own steps: startup, MFU and lost work need them"),
        Kind("checkpoint_log", "ingest.steps.checkpoint_log", 1, "E1",
             "saves and restores: recovery_checkpoint, and a surer start of lost work"),
        Kind("kineto", "ingest.traces.kineto", 2, "E3",
             "what the GPUs did inside steps: without it in_step is not split, nor kernels priced"),
        Kind("nsys", "ingest.traces.nsys", 2, "E3",
             "the same from Nsight Systems: GPU metrics too, but collectives without a number",
             instead_of="kineto"),
        Kind("flight_recorder", "ingest.interconnect.flight_recorder", 1, "E3",
             "which collective is which on all ranks: without it traces without numbers match"
             " by order"),
        Kind("team_map", "ingest.team_map", 1, "E0",
             "which team an account or a tag is: without it every team is unmapped",
             is_needed=True),
    )
}  # fmt: skip
