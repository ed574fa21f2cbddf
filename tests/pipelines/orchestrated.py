"""The scheduler's definitions for tests: a fixed calendar, runs in this process, nothing kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import dagster as dg

import pipelines.definitions
import pipelines.run
from pipelines.definitions import assemble
from pipelines.orchestration import jobs
from warehouse.models import Graph

START, END = date(2026, 9, 1), date(2026, 12, 1)
RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")

#: Errors only: a failing test shows what was said.
QUIET = {"python_logs": {"python_log_level": "ERROR"}}


def shipped() -> Graph:
    """The SQL graph, parsed once for all tests of this room (conftest.py)."""
    return pipelines.run.graph()


def definitions(config: Path | str) -> dg.Definitions:
    """The definitions from September to November 2026."""
    parsed = pipelines.definitions.graph
    try:
        pipelines.definitions.graph = shipped
        return assemble(str(config), start=START, end=END)
    finally:
        pipelines.definitions.graph = parsed


def run_months(
    config: Path | str,
    first: str,
    last: str,
    *,
    only: Sequence[str] = (),
    touched: bool = False,
) -> dg.ExecuteInProcessResult:
    """Run the month job, or `only` some of its assets, over a range of months."""
    found = definitions(config)
    job = found.resolve_job_def(jobs.JOB)
    if only:
        chosen = dg.AssetSelection.assets(*only)
        part = dg.Definitions(jobs=[dg.define_asset_job("part", chosen)])
        job = dg.Definitions.merge(found, part).resolve_job_def("part")
    with dg.DagsterInstance.ephemeral(settings=QUIET) as instance:
        return job.execute_in_process(
            instance=instance,
            tags=dict(zip(RANGE, (first, last), strict=True)),
            run_config=jobs.request(START, run_key="", touched=touched).run_config,
            raise_on_error=False,
        )


def materialized(
    result: dg.ExecuteInProcessResult,
) -> dict[tuple[str, str | None], dict[str, object]]:
    """Metadata of each materialisation by asset and partition; of equal ones the last."""
    found = {}
    for event in result.all_events:
        if event.event_type_value == "ASSET_MATERIALIZATION":
            record = event.step_materialization_data.materialization
            found[record.asset_key.to_user_string(), record.partition] = {
                key: value.value for key, value in record.metadata.items()
            }
    return found


def checked(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str], dg.AssetCheckEvaluation]:
    """Evaluations by asset and check."""
    return {
        (found.asset_key.to_user_string(), found.check_name): found
        for found in result.get_asset_check_evaluations()
    }
