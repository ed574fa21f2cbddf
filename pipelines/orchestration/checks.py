"""Asset checks: each check of a model header and each chk_ model, and what a run found of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

import dagster as dg

from pipelines.failures import row_text
from pipelines.orchestration import describe
from warehouse.engines.duckdb import CheckResult
from warehouse.models import Graph, Model

#: Offending rows that a failed check shows.
MOST_ROWS = 5
UNIQUE = "unique_key"


def specs(models: Graph) -> list[dg.AssetCheckSpec]:
    """A spec for each check of the graph, in building order."""
    found: list[dg.AssetCheckSpec] = []
    for name in models.order:
        model = models.models[name]
        if model.layer == "checks":
            found.append(_of_check_model(models, model))
            continue
        found.append(
            dg.AssetCheckSpec(
                UNIQUE, asset=name, blocking=True,
                description=f"No two rows have the same {', '.join(model.keys)}.",
            )
        )  # fmt: skip
        found.extend(
            dg.AssetCheckSpec(
                check.name, asset=name, blocking=check.level == "blocking",
                description=f"Each row: {' '.join(check.expression.split())}",
            )
            for check in model.checks
        )  # fmt: skip
    return found


def key_of(models: Graph, result: CheckResult) -> dg.AssetCheckKey:
    """Where a check's result belongs."""
    model = models.models[result.model]
    asset = home(models, model) if model.layer == "checks" else model.name
    return dg.AssetCheckKey(dg.AssetKey(asset), result.check)


def home(models: Graph, check: Model) -> str:
    """The asset whose check a chk_ model is: of the models that it reads, the last that is built.

    A published one comes before an intermediate one, for that is where people look.
    """
    read = [name for name in models.order if name in check.inputs]
    published = [name for name in read if models.models[name].layer in ("marts", "reports")]
    return (published or read or list(check.inputs))[-1]


def results(
    models: Graph,
    found: Iterable[tuple[date, CheckResult]],
    remembered: Iterable[tuple[date, CheckResult]] = (),
) -> Iterator[dg.AssetCheckResult]:
    """One result for each check, over the months of a run.

    `remembered` are those of months that did not change, known from when they were published.
    """
    grouped: dict[dg.AssetCheckKey, list[tuple[date, CheckResult, bool]]] = {}
    for old, group in ((False, found), (True, remembered)):
        for month, result in group:
            grouped.setdefault(key_of(models, result), []).append((month, result, old))
    for key, rows in grouped.items():
        yield _result(key, rows)


def _of_check_model(models: Graph, model: Model) -> dg.AssetCheckSpec:
    asset = home(models, model)
    return dg.AssetCheckSpec(
        model.name, asset=asset, blocking=model.level == "blocking",
        additional_deps=[name for name in model.inputs if name in models.models and name != asset],
        description=f"Must find no row. {describe.of_model(model)}",
    )  # fmt: skip


def _result(
    key: dg.AssetCheckKey, rows: Sequence[tuple[date, CheckResult, bool]]
) -> dg.AssetCheckResult:
    bad = [(month, result) for month, result, _ in rows if not result.passed]
    metadata: describe.Metadata = {
        "bad_rows": sum(result.bad_rows for _, result in bad),
        "months": ", ".join(f"{month:%Y-%m}" for month, _, _ in rows),
    }
    if any(old for _, _, old in rows):
        metadata["known_from"] = (
            "the build that is published: nothing that it was made from has changed"
        )
    sample = [row_text(row) for _, result in bad for row in result.sample][:MOST_ROWS]
    if sample:
        metadata["such_as"] = dg.MetadataValue.md("\n".join(f"- `{text}`" for text in sample))
    blocking = rows[0][1].level == "blocking"
    return dg.AssetCheckResult(
        passed=not bad, asset_key=key.asset_key, check_name=key.name, metadata=metadata,
        severity=dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN,
    )  # fmt: skip
