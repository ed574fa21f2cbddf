"""The SQL graph: every model file below one folder, parsed, ordered and held to the layering.

A file is one header comment (warehouse/header.py) and one SELECT. What a model reads is taken
from its SQL, never declared beside it. All faults are ModelErrors that name file and line.
"""

from __future__ import annotations

import difflib
import graphlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from warehouse import header, sqltypes
from warehouse.contracts import LANDING, Column, Contract
from warehouse.errors import ModelError
from warehouse.header import ModelColumn, RowCheck, fault

__all__ = ["LAYERS", "Graph", "Model", "ModelColumn", "RowCheck", "load_graph", "parse_model"]


@dataclass(frozen=True)
class Layer:
    """A folder of models: the prefix of its names, and the kinds of table that it may read."""

    prefix: str
    reads: frozenset[str]


_ALL = frozenset({"landing", "seed", "run", "staging", "intermediate", "marts", "reports"})

#: One way only: a landing table is read in staging and nowhere else, so that a format's quirk is
#: undone in one place; checks look at everything.
LAYERS: dict[str, Layer] = {
    "staging": Layer("stg_", frozenset({"landing", "seed", "run"})),
    "intermediate": Layer("int_", frozenset({"staging", "intermediate", "seed", "run"})),
    "marts": Layer("", frozenset({"staging", "intermediate", "marts", "seed", "run"})),
    "reports": Layer("", frozenset({"marts", "reports", "seed", "run"})),
    "checks": Layer("chk_", _ALL),
}
_TAKEN = ("stg_", "int_", "chk_", "run_")


@dataclass(frozen=True)
class Model:
    """One model file.

    `sql` keeps the line numbers of the file (empty lines stand for the header). `inputs` are the
    tables that it reads, sorted. `order` ends in the keys, so that it is a unique order. `level`
    is set on checks only, whose rows are the offending ones.
    """

    name: str
    layer: str
    path: Path
    purpose: str
    grain: str
    keys: tuple[str, ...]
    columns: tuple[ModelColumn, ...]
    checks: tuple[RowCheck, ...]
    level: str | None
    order: tuple[str, ...]
    version: int
    sql: str
    inputs: tuple[str, ...]

    def contract(self) -> Contract:
        """The contract of the published table; ModelError for a check, which publishes nothing."""
        if self.layer == "checks":
            raise ModelError(f"{self.path}: a check has no contract. Ask a model for one.")
        columns = tuple(
            Column(c.name, sqltypes.arrow_type(c.type), c.unit, c.meaning) for c in self.columns
        )
        return Contract(self.name, self.version, self.grain, self.keys, self.order, columns)


@dataclass(frozen=True)
class Graph:
    """All models, in an order in which each comes after what it reads.

    `fingerprint` changes when any file does, apart from line ends and blanks at a line's end.
    """

    models: dict[str, Model]
    order: tuple[str, ...]
    fingerprint: str

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        readers: dict[str, list[str]] = {}
        for model in self.models.values():
            for name in model.inputs:
                readers.setdefault(name, []).append(model.name)
        return readers

    def downstream(self, names: Iterable[str]) -> tuple[str, ...]:
        """The models among `names` (which may be inputs too) and all that rest on them, ordered."""
        return self._closure(names, lambda name: self._readers.get(name, []))

    def upstream(self, names: Iterable[str]) -> tuple[str, ...]:
        """The models among `names` and all that they rest on, ordered."""
        return self._closure(
            names, lambda name: self.models[name].inputs if name in self.models else ()
        )

    def _closure(
        self, names: Iterable[str], step: Callable[[str], Iterable[str]]
    ) -> tuple[str, ...]:
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left.extend(step(name))
        return tuple(name for name in self.order if name in found)


def load_graph(folder: Path, *, inputs: set[str]) -> Graph:
    """Load every model below `folder`, whose subfolders are the layers.

    `inputs` are the tables that come from elsewhere: landing tables, seeds, and run tables (names
    that start with `run_`). Raises ModelError for the first file that breaks the grammar, the
    layering or the names, for unknown tables and for cycles.
    """
    models: dict[str, Model] = {}
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.sql")):
        text = path.read_text(encoding="utf-8")
        model = parse_model(text, path, layer=path.relative_to(folder).parent.as_posix())
        if model.name in models or model.name in inputs:
            other = models[model.name].path if model.name in models else "an input table"
            raise fault(path, 1, f"the name {model.name} is taken by {other}", "Rename the file.")
        models[model.name] = model
        lines = "\n".join(line.rstrip() for line in text.splitlines()).strip()
        digest.update(f"{model.layer}/{model.name}\0{lines}\0".encode())
    for model in models.values():
        _check_inputs(model, models, inputs)
    return Graph(models, _ordered(models), digest.hexdigest())


def parse_model(text: str, path: Path, *, layer: str) -> Model:
    """Parse one model file of a layer; what it reads is not yet looked up."""
    if layer not in LAYERS:
        raise fault(
            path, 1, f"the folder {layer!r} is no layer", f"Layers are {', '.join(LAYERS)}."
        )
    name, prefix = path.stem, LAYERS[layer].prefix
    if not header.NAME.fullmatch(name):
        raise fault(path, 1, f"name {name!r}", "Use lower case, digits and underscores.")
    if not name.startswith(prefix) or (not prefix and name.startswith(_TAKEN)):
        todo = f"Start it with {prefix}." if prefix else f"No {', '.join(_TAKEN)} in {layer}."
        raise fault(path, 1, f"the name {name} has the wrong prefix for {layer}", todo)
    lines, sql = header.split(text, path)
    head = header.parse(lines, path, is_check=layer == "checks")
    query = _query(sql, path, head.line["columns"])
    for check in head.checks:
        _check_expression(check, head.columns, path)
    order = head.order + tuple(key for key in head.keys if key not in head.order)
    return Model(
        name=name,
        layer=layer,
        path=path,
        purpose=head.purpose,
        grain=head.grain,
        keys=head.keys,
        columns=head.columns,
        checks=head.checks,
        level=head.level,
        order=order,
        version=head.version,
        sql=sql,
        inputs=tuple(sorted({t.name for t in tables(query)})),
    )


def tables(query: exp.Expr) -> Iterator[exp.Table]:
    """The tables that a query reads, but not its CTEs.

    Scope counts: in `with t as (select a from t)` the inner t is a table.
    """
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not _is_cte(table):
            yield table


def line_of(node: exp.Expr, *, default: int = 1) -> int:
    """The line on which a parsed node begins, as far as the parser knows it."""
    # A star that the parser itself adds (`from t` alone) claims to end at character 0.
    lines = [n.meta["line"] for n in node.walk() if n.meta.get("end")]
    return min(lines, default=default)


def _is_cte(table: exp.Table) -> bool:
    if table.db:
        return False
    inside: exp.Expr = table
    outer = table.parent
    while outer is not None:
        with_ = outer.args.get("with_")
        if with_ is not None:
            names = [cte.alias for cte in with_.expressions]
            if inside is with_:
                # In the CTEs themselves: the ones before (and itself where recursive) are seen.
                own = next(i for i, c in enumerate(with_.expressions) if _holds(c, table))
                names = names if with_.args.get("recursive") else names[:own]
            if table.name in names:
                return True
        inside, outer = outer, outer.parent
    return False


def _holds(node: exp.Expr, inner: exp.Expr | None) -> bool:
    while inner is not None and inner is not node:
        inner = inner.parent
    return inner is node


def _query(sql: str, path: Path, first_line: int) -> exp.Query:
    try:
        parsed = sqlglot.parse(sql, read="duckdb")
    except SqlglotError as error:
        places = getattr(error, "errors", None) or [{}]
        line = places[0].get("line") or first_line
        near = places[0].get("highlight")
        found = (places[0].get("description") or str(error)) + (f" near {near!r}" if near else "")
        raise fault(path, line, f"the SQL cannot be parsed: {found}", "Correct it.") from error
    statements = [s for s in parsed if s is not None and not isinstance(s, exp.Semicolon)]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        line = line_of(statements[-1], default=first_line) if statements else first_line
        kinds = ", ".join(s.key for s in statements) or "nothing"
        raise fault(path, line, f"found {kinds} after the header", "Write exactly one SELECT.")
    for select in _last_selects(statements[0]):
        for column in select.expressions:
            if column.is_star:
                raise fault(
                    path,
                    line_of(column, default=line_of(select)),
                    "the last select has a star",
                    "Name its columns, in the header's order.",
                )
    for table in tables(statements[0]):
        if table.db:
            raise fault(
                path,
                line_of(table),
                f"the table {table.sql()} is qualified",
                "Write the bare name; the engine binds it.",
            )
    return statements[0]


def _last_selects(query: exp.Expr) -> Iterator[exp.Select]:
    if isinstance(query, exp.Select):
        yield query
    elif isinstance(query, exp.SetOperation):
        yield from _last_selects(query.left)
        yield from _last_selects(query.right)
    elif isinstance(query, exp.Subquery):
        yield from _last_selects(query.this)


def _check_expression(check: RowCheck, columns: tuple[ModelColumn, ...], path: Path) -> None:
    where = f"check {check.name}"
    try:
        parsed = sqlglot.parse_one(f"select {check.expression}", read="duckdb")
    except SqlglotError as error:
        raise fault(
            path,
            check.line,
            f"{where}: {check.expression!r} cannot be parsed",
            "Write one boolean SQL expression.",
        ) from error
    beyond = (exp.AggFunc, exp.Window, exp.Table, exp.Subquery, exp.Exists)
    if not isinstance(parsed, exp.Select) or len(parsed.selects) != 1 or parsed.find(*beyond):
        raise fault(
            path,
            check.line,
            f"{where} looks beyond one row",
            "Use columns of the row only; anything else belongs in models/sql/checks.",
        )
    known = {column.name for column in columns}
    for column in parsed.find_all(exp.Column):
        if column.name not in known:
            raise fault(
                path,
                check.line,
                f"{where}: no column {column.name!r}",
                f"Columns are {', '.join(sorted(known))}.",
            )


def _check_inputs(model: Model, models: dict[str, Model], inputs: set[str]) -> None:
    allowed = LAYERS[model.layer].reads
    for name in model.inputs:
        if name in models:
            kind = models[name].layer
        elif name in inputs:
            kind = _input_kind(name)
        else:
            near = difflib.get_close_matches(name, [*models, *inputs], n=3)
            todo = f"Did you mean {' or '.join(near)}?" if near else "Add a model of this name."
            raise fault(model.path, _line_of_table(model, name), f"unknown table {name}", todo)
        if kind not in allowed:
            raise fault(
                model.path,
                _line_of_table(model, name),
                f"{model.layer} may not read {kind} ({name})",
                f"It may read {', '.join(sorted(allowed))}.",
            )


def _line_of_table(model: Model, name: str) -> int:
    """Where a model first reads a table; its text is parsed again, since only faults need it."""
    read = tables(sqlglot.parse_one(model.sql, read="duckdb"))
    return min(line_of(table) for table in read if table.name == name)


def _input_kind(name: str) -> str:
    if name.startswith("run_"):
        return "run"
    return "landing" if name in LANDING else "seed"


def _ordered(models: dict[str, Model]) -> tuple[str, ...]:
    needs = {name: [i for i in models[name].inputs if i in models] for name in sorted(models)}
    try:
        return tuple(graphlib.TopologicalSorter(needs).static_order())
    except graphlib.CycleError as error:
        ring = list(reversed(error.args[1]))
        raise fault(
            models[ring[0]].path,
            1,
            f"models read each other: {' -> '.join(ring)}",
            "Break the ring.",
        ) from None
