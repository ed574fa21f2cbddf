"""The month's report as an asset after the published tables: no report of a month that failed."""

# No postponed annotations here: Dagster looks at those of an op as they are.
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from pipelines.config import Config
from pipelines.orchestration import describe
from pipelines.orchestration.deployment import Deployment
from pipelines.orchestration.partitions import Calendar, keys, months_between
from pipelines.orchestration.telling import as_failure
from pipelines.published import Published
from pipelines.report_folder import below, write_folder
from reports.folder import is_uri
from reports.write import require_packages
from warehouse.errors import ConfigError
from warehouse.models import Graph
from warehouse.shipped import marts

REPORT = "report"


def report_assets(models: Graph, calendar: Calendar) -> dg.AssetsDefinition:
    """A folder for each month, written as `plumbline report --out` does."""

    @dg.multi_asset(
        name="write_report",
        specs=[
            dg.AssetSpec(
                REPORT,
                deps=list(marts(models)),
                description="The month as pages for people, CSV, a workbook and a short text: "
                "`plumbline report --out`. One folder per month.",
                group_name=REPORT,
                kinds={"html", "csv", "excel"},
                partitions_def=calendar.months,
            )
        ],
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def write(
        context: dg.AssetExecutionContext, deployment: Deployment
    ) -> Iterator[dg.MaterializeResult[None]]:
        with as_failure():
            config = deployment.load()
            published = Published(config)
            span = keys(context)
            wanted = published.months if span is None else months_between(*span)
            plain = _is_plain(context)
            for month in wanted:
                metadata: describe.Metadata = {"state": "this month is not published"}
                if month in published.months:
                    out = below(folder(config), f"{month:%Y-%m}")
                    place = write_folder(published, month, out, plain=plain)
                    context.log.info(f"report: {place}")
                    metadata = _metadata(place)
                if span is not None:
                    context.add_asset_metadata(
                        metadata, asset_key=REPORT, partition_key=month.isoformat()
                    )
            yield dg.MaterializeResult(asset_key=REPORT)

    return write


def folder(config: Config) -> str:
    """Where the scheduler puts reports, a folder each month: on disk or in an object store."""
    return config.reports or str(config.root / "reports")


def _is_plain(context: dg.AssetExecutionContext) -> bool:
    try:
        require_packages()
    except ConfigError as error:
        context.log.warning(f"{error} This report is written without them.")
        return True
    return False


def _metadata(place: str) -> describe.Metadata:
    if is_uri(place):
        return {"path": place}
    files = [path for path in Path(place).parent.rglob("*") if path.is_file()]
    return {
        "path": dg.MetadataValue.path(place),
        "files": len(files),
        "bytes": sum(path.stat().st_size for path in files),
    }
