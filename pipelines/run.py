"""The main job: ingest what is new, build the months that it touches, check, publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from pipelines import months
from pipelines.config import Config
from pipelines.failures import explain
from pipelines.landing import Landed, land
from warehouse.catalog import CATALOG, write_catalog
from warehouse.contracts import LANDING
from warehouse.engines.duckdb import CheckResult, DuckEngine
from warehouse.errors import CheckFailed
from warehouse.models import Graph
from warehouse.objects import Fault, fault_from_env
from warehouse.run_tables import run_hour, run_setting
from warehouse.shipped import graph, marts, seeds, seeds_fingerprint
from warehouse.store import Store, Transaction

Progress = Callable[[str], None]


@dataclass
class Outcome:
    """What a run did: ingest, months built and left as they were, and what the checks found."""

    landed: Landed
    built: list[date] = field(default_factory=list)
    unchanged: list[date] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    warnings: list[CheckResult] = field(default_factory=list)


def open_store(config: Config, *, fault: Fault | None = None) -> Store:
    """The configuration's warehouse; PLUMBLINE_FAULT makes it stop at a named point (tests)."""
    return Store(config.root, fault=fault or fault_from_env())


def run(
    config: Config, *, month: date | None = None, progress: Progress, fault: Fault | None = None
) -> Outcome:
    """Ingest, build, check and publish; raises CheckFailed where a blocking check fails.

    `month` builds this month only. Months that nothing new touches are left as they are. `fault` is
    called at each point of the store (tests).
    """
    models = graph()
    store = open_store(config, fault=fault)
    with store.transaction() as transaction:
        outcome = Outcome(land(config, store, transaction, progress=progress))
        landing = months.read_landing(store)
        present = landing.months()
        for wanted in present if month is None else [m for m in present if m == month]:
            _month(config, store, transaction, models, landing, wanted, outcome, progress)
        if month is None:
            _remove_others(store, transaction, present, outcome)
        write_catalog(store, Path(store.root) / CATALOG, {**LANDING, **marts(models)})
    return outcome


def _month(
    config: Config, store: Store, transaction: Transaction, models: Graph,
    landing: months.Landing, month: date, outcome: Outcome, progress: Progress,
) -> None:  # fmt: skip
    billed, window = landing.billed(month), landing.window(month)
    files = months.inputs(store, window)
    mark = months.fingerprint(
        [entry for entries in files.values() for entry in entries], (billed, window),
        models=models.fingerprint + seeds_fingerprint(), settings=config.settings,
    )  # fmt: skip
    key = unit_key(month)
    known = store.units("mart").get(key)
    if known is not None and known.fingerprint == mark:
        outcome.unchanged.append(month)
        return
    contracts = marts(models)
    with DuckEngine(
        config.root / ".scratch", memory_limit=config.memory_limit, threads=config.threads
    ) as engine:
        for table, entries in files.items():
            engine.bind_files(table, [store.path(e) for e in entries], LANDING[table].schema)
        for name, path in seeds().items():
            engine.bind_seed(name, path)
        engine.bind_arrow(
            "run_setting",
            run_setting(
                window.start_ns,
                window.end_ns,
                billed=(billed.start_ns, billed.end_ns),
                **config.settings,
            ),
        )
        engine.bind_arrow("run_hour", run_hour(window.start_ns, window.end_ns))
        failed: list[CheckResult] = []
        for number, name in enumerate(models.order, 1):
            progress(f"{month:%Y-%m}: model {number} of {len(models.order)}, {name}")
            engine.build(models.models[name])
            for result in engine.check(models.models[name]):
                if not result.passed and result.level == "blocking":
                    failed.append(result)
                elif not result.passed:
                    outcome.warnings.append(result)
        if failed:
            raise CheckFailed(explain(month, failed))
        transaction.replace(
            "mart", key,
            (batch for name in contracts
             for batch in engine.stream(models.models[name], where_month=month)),
            fingerprint=mark, meta={"month": f"{month:%Y-%m}"}, contracts=contracts,
        )  # fmt: skip
    transaction.commit()
    outcome.built.append(month)


def unit_key(month: date) -> str:
    """The store's name for a month's marts."""
    return f"month={month:%Y-%m}"


def _remove_others(
    store: Store, transaction: Transaction, present: list[date], outcome: Outcome
) -> None:
    kept = {unit_key(month) for month in present}
    for key in sorted(store.units("mart").keys() - kept):
        transaction.remove("mart", key)
        outcome.removed.append(key)
    transaction.commit()
