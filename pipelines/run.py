"""The main job: ingest what is new, build the months that it touches, check, publish."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from pipelines import months, warned
from pipelines.config import Config
from pipelines.failures import explain
from pipelines.landing import Landed, land
from pipelines.observer import SILENT, Observer, Progress
from pipelines.writing import writing
from warehouse.catalog import CATALOG, write_catalog
from warehouse.contracts import LANDING
from warehouse.engines.duckdb import CheckResult, DuckEngine
from warehouse.errors import CheckFailed, SourceError, StoreError
from warehouse.models import Graph
from warehouse.objects import Fault, fault_from_env
from warehouse.run_tables import run_hour, run_setting
from warehouse.shipped import graph, marts, seeds, seeds_fingerprint
from warehouse.store import Store, Transaction


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
    config: Config,
    *,
    month: date | None = None,
    progress: Progress,
    observer: Observer = SILENT,
    fault: Fault | None = None,
    wait_s: float = 0.0,
    forget: bool = False,
) -> Outcome:
    """Ingest, build, check and publish; raises CheckFailed where a blocking check fails.

    `month` builds this month only. Months that nothing new touches are left as they are. While
    another process writes, it waits up to `wait_s` seconds, then raises StoreBusy. `fault` is
    called at each point of the store (tests). A source whose files are all gone, or a published
    month whose bill is gone, is a SourceError, unless it may `forget` them.
    """
    models = graph()
    with publishing(
        config, models, progress=progress, fault=fault, wait_s=wait_s, complete=month is None
    ) as (store, transaction):  # fmt: skip
        landed = land(config, store, transaction, progress=progress, forget=forget)
        outcome = Outcome(landed)
        work = Work(config, store, transaction, models, outcome, progress, observer, forget)
        build(work, wanted=None if month is None else {month})
    return outcome


@contextmanager
def publishing(
    config: Config, models: Graph, *, progress: Progress, fault: Fault | None = None,
    wait_s: float = 0.0, complete: bool = True,
) -> Iterator[tuple[Store, Transaction]]:  # fmt: skip
    """The configuration's store, held for writing; its catalog is renewed at the end.

    It is renewed after an error too: what was committed before stands, and the files that it
    replaced go. Months that an older Plumbline published may not fit the models yet; no catalog can
    be made then, which is an error only where the block builds all months (`complete`). Raises
    StoreBusy where another process still writes after `wait_s` seconds.
    """
    store = open_store(config, fault=fault)
    catalog, tables = Path(store.root) / CATALOG, {**LANDING, **marts(models)}
    with writing(store, wait_s=wait_s, progress=progress) as transaction:
        try:
            yield store, transaction
        except Exception:
            with suppress(StoreError):
                write_catalog(store, catalog, tables)
            raise
        try:
            write_catalog(store, catalog, tables)
        except StoreError as error:
            if complete:
                raise
            progress(f"the catalog waits until all months are built: {error}")


@dataclass(frozen=True)
class Work:
    """What building a month needs: from where, to where, and who is told."""

    config: Config
    store: Store
    transaction: Transaction
    models: Graph
    outcome: Outcome
    progress: Progress
    observer: Observer = SILENT
    forget: bool = False


def build(work: Work, *, wanted: Collection[date] | None = None) -> None:
    """Build, check and publish the months that have landed.

    `wanted` are the first days of the months to look at, None is all. Each month is published by
    itself: where a later one raises CheckFailed, those before it stand. A published month that no
    bill line touches any more is a SourceError at the end; it is removed where `work` may forget.
    """
    landing = months.read_landing(work.store)
    present = landing.months()
    for month in present:
        if wanted is None or month in wanted:
            _month(work, landing, month)
    gone = work.store.units("mart").keys() - {months.unit_key(month) for month in present}
    if wanted is not None:
        gone &= {months.unit_key(month) for month in wanted}
    if gone and not work.forget:
        raise SourceError(
            work.config.path,
            f"no bill line touches {', '.join(sorted(gone))} any more, and it is published",
            expected="the bill that it was built from",
            todo="What is published stands, and so does the rest of this run. Bring the bill back, "
            "or let the month go with `plumbline run --forget`.",
        )
    for key in sorted(gone):
        work.transaction.remove("mart", key)
        work.outcome.removed.append(key)
    work.transaction.commit()


def _month(work: Work, landing: months.Landing, month: date) -> None:
    config, store, models = work.config, work.store, work.models
    billed, window = landing.billed(month), landing.window(month)
    files = months.inputs(store, window)
    mark = months.fingerprint(
        [entry for entries in files.values() for entry in entries], (billed, window),
        models=models.fingerprint + seeds_fingerprint(), settings=config.settings,
    )  # fmt: skip
    key = months.unit_key(month)
    known = store.units("mart").get(key)
    if known is not None and known.fingerprint == mark:
        work.outcome.unchanged.append(month)
        work.observer.unchanged(month, known)
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
        warnings: list[CheckResult] = []
        for number, name in enumerate(models.order, 1):
            work.progress(f"{month:%Y-%m}: model {number} of {len(models.order)}, {name}")
            model = models.models[name]
            engine.build(model)
            if model.layer != "checks":
                work.observer.built(month, model, engine)
            for result in engine.check(model):
                work.observer.checked(month, result)
                if not result.passed:
                    (failed if result.level == "blocking" else warnings).append(result)
        if failed:
            raise CheckFailed(explain(month, failed))
        work.transaction.replace(
            "mart", key,
            (batch for name in contracts
             for batch in engine.stream(models.models[name], where_month=month)),
            fingerprint=mark, meta={"month": f"{month:%Y-%m}", warned.KEY: warned.kept(warnings)},
            contracts=contracts,
        )  # fmt: skip
    work.transaction.commit()
    work.outcome.built.append(month)
    work.outcome.warnings.extend(warnings)
    work.observer.published(month, store.units("mart")[key])
