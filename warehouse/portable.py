"""The portable subset of SQL: what gives equal results on DuckDB and, transpiled, on Spark.

The transpiler refuses next to nothing of what differs, so this lint walks the parsed tree: joins,
casts and special forms by rule, functions by a list of those that were run on both engines. A
function that is not in the list is refused until it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from warehouse.header import fault
from warehouse.models import Model, line_of

#: Why each rule is there. What is said to differ was seen to differ when run on both engines.
REASONS: dict[str, str] = {
    "asof_join": "Spark has none, and it keeps one match only: jobs that share a GPU are lost",
    "positional_join": "becomes a cross product on Spark, without an error",
    "natural_join": "joins by whatever columns two tables happen to share",
    "division": "of a decimal by an integer it is DOUBLE here and DECIMAL on Spark",
    "integer_division": "of decimals or doubles // is a plain division here (7.5 // 2 is 3.75) and "
    "truncates on Spark; cast to BIGINT or HUGEINT",
    "integer_cast": "rounds here and truncates on Spark: 2.5 becomes 3 and 2",
    "epoch": "loses the fraction of a second on Spark",
    "time_bucket": "becomes a function that Spark does not have; it ignores the session's zone too",
    "interval": "Spark has no intervals from columns; add whole nanoseconds instead",
    "date_diff": "in seconds and more it counts boundaries here and whole units on Spark",
    "extract": "day of week counts from another day on Spark, seconds and epoch have other types",
    "percentile": "becomes approximate on Spark: 49.5 here, 49.0 there",
    "mode": "takes another value of a tie on Spark",
    "hash": "is another function on Spark",
    "approximate": "gives other values on another engine, or with other threads",
    "pivot": "DuckDB's form does not exist on Spark; write case expressions",
    "by_name": "Spark has no UNION BY NAME; write the columns in order",
    "star": "REPLACE, RENAME and COLUMNS() do not exist on Spark; name the columns",
    "map": "map literals do not exist on Spark",
    "macro": "a macro lives in one database only; models are one SELECT each",
    "path": "a model names tables; the engine binds them to files",
    "table_function": "only unnest(...) goes through to Spark as a table",
    "sum_type": "the sum of BIGINT is HUGEINT, which Parquet stores as a rounded DOUBLE; a sum is "
    "cast at once",
    "float_sum": "a sum of DOUBLE depends on the order of rows; sum whole units or decimals",
    "avg": "of decimals it is DOUBLE here and DECIMAL on Spark; write sum and count",
    "clock": "a model gives the same rows whenever it runs; take the time from run_setting",
    "random": "a model gives the same rows each time",
    "window_order": "without order by the rows of the window come in any order",
    "array_order": "the transpiler drops order by inside array_agg, and Spark drops nulls: write "
    "list_sort(array_agg(x) filter (where x is not null))",
    "limit": "without order by it keeps any rows",
    "money_float": "money in DOUBLE does not add up to the invoice",
    "cast_type": "Spark or Parquet has no such type",
    "function": "is not in the list of functions that were run equal on both engines",
}  # fmt: skip

#: Run equal on both engines. Put a function here together with a case in tests/fixtures/portable.
FUNCTIONS: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.Abs, exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Coalesce, exp.Nullif,
        exp.Greatest, exp.Least, exp.Round, exp.Floor, exp.Ceil, exp.Sum, exp.Count, exp.CountIf,
        exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd, exp.ArrayAgg, exp.ArraySort,
        exp.ArraySize, exp.ArrayContains, exp.Array, exp.Explode, exp.Unnest, exp.GenerateSeries,
        exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue,
        exp.DateDiff, exp.DateTrunc, exp.TimestampTrunc, exp.Extract, exp.Year, exp.Month, exp.Day,
        exp.Concat, exp.Length, exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Replace,
        exp.RegexpLike, exp.StartsWith, exp.MD5, exp.PercentileDisc, exp.Exists,
    }
)  # fmt: skip

_DENIED: dict[type[exp.Expr], str] = {
    exp.TimeToUnix: "epoch", exp.UnixToTime: "epoch", exp.DateBin: "time_bucket",
    exp.PercentileCont: "percentile", exp.Quantile: "percentile", exp.Median: "percentile",
    exp.Mode: "mode", exp.ApproxQuantile: "approximate", exp.ApproxDistinct: "approximate",
    exp.Avg: "avg", exp.CurrentDate: "clock", exp.CurrentTimestamp: "clock",
    exp.CurrentTime: "clock", exp.Rand: "random", exp.Uuid: "random", exp.Map: "map",
    exp.ToMap: "map", exp.Columns: "star", exp.Pivot: "pivot", exp.DayOfWeek: "extract",
    exp.DayOfWeekIso: "extract", exp.First: "window_order", exp.AnyValue: "window_order",
    exp.ReadCSV: "path", exp.ReadParquet: "path",
}  # fmt: skip
_DENIED_NAMES: tuple[tuple[str, str], ...] = (
    (r"epoch(_[a-z]+)?", "epoch"), (r"time_bucket", "time_bucket"),
    (r"to_(second|minute|hour|day|week|month|year|millisecond|microsecond)s", "interval"),
    (r"date_sub|datesub|age", "date_diff"), (r"date_part|datepart|isodow|weekday", "extract"),
    (r"quantile.*|percentile.*|median", "percentile"), (r"mode", "mode"),
    (r"hash|histogram.*", "hash"), (r"approx_.*|reservoir_quantile", "approximate"),
    (r"avg|mean|favg", "avg"), (r"now|today|get_current_.*|current_.*|transaction_.*", "clock"),
    (r"random|setseed|uuid.*|gen_random_uuid", "random"), (r"map(_.*)?", "map"),
    (r"read_.*|parquet_.*|glob|sniff_csv", "path"),
)  # fmt: skip
_ORDERED = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile,
            exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)  # fmt: skip
_INTEGERS = exp.DataType.INTEGER_TYPES
_FLOATS = {exp.DType.DOUBLE, exp.DType.FLOAT}
#: HUGEINT is for exact splits inside a model; headers do not allow it, so it is never stored.
_CASTS = {
    exp.DType.BIGINT, exp.DType.INT, exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.BOOLEAN,
    exp.DType.DATE, exp.DType.INT128, exp.DType.DOUBLE, exp.DType.TIMESTAMPTZ,
    exp.DType.DECIMAL, exp.DType.ARRAY,
}  # fmt: skip
_EXTRACTS = {"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE"}
#: What passes a number on as it is, so that a search for its kind looks through it.
_THROUGH = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Coalesce, exp.Greatest, exp.Least,
            exp.Case, exp.If, exp.Nullif, exp.Abs, exp.Sum, exp.Max, exp.Min, exp.Filter,
            exp.Window)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One breach: the rule's name, the line in the file, what was found, why the rule is there."""

    rule: str
    line: int
    message: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message} [{self.rule}: {self.reason}]"


_Breach = tuple[str, exp.Expr, str]


def lint(sql: str, path: Path) -> list[Finding]:
    """What a model's SQL has outside the portable subset, by line; an empty list is a pass.

    Lines are those of `sql`. Raises ModelError with `path` where it cannot be parsed.
    """
    try:
        statements = [s for s in sqlglot.parse(sql, read="duckdb") if s is not None]
    except SqlglotError as error:
        raise fault(path, 1, f"the SQL cannot be parsed: {error}", "Correct it.") from error
    found = {
        Finding(rule, _line(node), message, REASONS[rule])
        for tree in statements
        for node in tree.walk()
        for check in _CHECKS
        for rule, node, message in check(node)
    }
    return sorted(found, key=lambda f: (f.line, f.rule, f.message))


def to_spark(sql: str) -> str:
    """A model's SQL as Spark SQL; sqlglot's UnsupportedError where it has no translation.

    HUGEINT, which Spark does not have, becomes DECIMAL(38,0).
    """
    tree = sqlglot.parse_one(sql, read="duckdb")
    for cast in tree.find_all(exp.Cast):
        if cast.to.this == exp.DType.INT128:
            cast.set("to", exp.DataType.build("DECIMAL(38, 0)", dialect="duckdb"))
    return tree.sql("spark", unsupported_level=ErrorLevel.RAISE)


def lint_model(model: Model) -> list[Finding]:
    """`lint` of a model's SQL and of the expressions of its row checks."""
    found = lint(model.sql, model.path)
    for check in model.checks:
        for finding in lint(f"select {check.expression}", model.path):
            message = f"check {check.name}: {finding.message}"
            found.append(Finding(finding.rule, check.line, message, finding.reason))
    return found


def _line(node: exp.Expr) -> int:
    at: exp.Expr | None = node
    while at is not None:
        line = line_of(at, default=0)
        if line:
            return line
        at = at.parent
    return 1


def _short(node: exp.Expr) -> str:
    text = node.sql("duckdb", normalize_functions="lower")
    return text if len(text) <= 60 else text[:57] + "..."


# -- relations --------------------------------------------------------------------------------


def _joins(node: exp.Expr) -> Iterator[_Breach]:
    if isinstance(node, exp.Join) and node.method:
        rule = f"{node.method.lower()}_join"
        yield rule, node, f"{node.method} join"


def _tables(node: exp.Expr) -> Iterator[_Breach]:
    if not isinstance(node, exp.Table):
        return
    if isinstance(node.this, exp.Identifier):
        if re.search(r"[./\\*]|:", node.name):
            yield "path", node, f"the file {node.name!r} as a table"
    elif type(node.this) not in _DENIED:
        yield "table_function", node, f"{_short(node.this)} as a table"


def _forms(node: exp.Expr) -> Iterator[_Breach]:
    if isinstance(node, exp.SetOperation) and node.args.get("by_name"):
        yield "by_name", node, f"{node.key} by name"
    elif isinstance(node, exp.Star) and (node.args.get("replace") or node.args.get("rename")):
        yield "star", node, f"star {_short(node)}"
    elif isinstance(node, exp.Create):
        yield "macro", node, f"create {node.kind or ''}".strip().lower()
    elif isinstance(node, exp.TableSample):
        yield "random", node, "a sample of a table"
    elif isinstance(node, exp.Interval) and not isinstance(node.this, exp.Literal):
        yield "interval", node, f"{_short(node)}, which is no literal"
    elif isinstance(node, exp.Select) and node.args.get("limit") and not node.args.get("order"):
        yield "limit", node.args["limit"], "limit without order by"


# -- numbers ----------------------------------------------------------------------------------


def _divisions(node: exp.Expr) -> Iterator[_Breach]:
    if isinstance(node, exp.Div):
        if not (_is_double(node.left) and _is_double(node.right)):
            yield "division", node, f"{_short(node)}: cast both operands to double, or use //"
    elif isinstance(node, exp.IntDiv) and any(
        _is_fractional(side, whole_decimals=True) for side in (node.left, node.right)
    ):
        yield "integer_division", node, _short(node)


def _is_double(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Nullif):
        node = node.this
    return isinstance(node, exp.Cast) and node.to.this == exp.DType.DOUBLE


def _casts(node: exp.Expr) -> Iterator[_Breach]:
    if not isinstance(node, exp.Cast):
        return
    to = node.to
    # BIGINT[] and the like: what counts is the item.
    inner = to.expressions[0] if to.this == exp.DType.ARRAY and to.expressions else to
    if inner.this not in _CASTS:
        yield "cast_type", node, f"cast to {to.sql('duckdb').lower()}"
    if to.this in _INTEGERS and _is_fractional(node.this):
        yield "integer_cast", node, f"{_short(node)}: put round, floor or ceil inside"


def _is_fractional(node: exp.Expr, *, whole_decimals: bool = False) -> bool:
    """Whether an expression shows that it may have a fraction; a bare column does not show it.

    `whole_decimals` counts DECIMAL(p,0) too.
    """
    if isinstance(node, exp.Literal):
        return not node.is_string and not node.is_int
    if isinstance(node, exp.Div):
        return True
    if isinstance(node, exp.Cast):
        if node.to.this != exp.DType.DECIMAL:
            return node.to.this in _FLOATS
        scale = [p.name for p in node.to.expressions][1:]
        return whole_decimals or scale != ["0"]
    return isinstance(node, _THROUGH) and any(
        _is_fractional(inner, whole_decimals=whole_decimals) for inner in _operands(node)
    )


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """What gives an expression its value: not conditions, filters and window parts."""
    if isinstance(node, exp.Case):
        yield from (branch.args["true"] for branch in node.args["ifs"])
        if node.args.get("default"):
            yield node.args["default"]
    elif isinstance(node, exp.If):
        yield from (node.args[k] for k in ("true", "false") if node.args.get(k))
    elif isinstance(node, exp.Filter | exp.Window):
        yield node.this
    else:
        yield from node.iter_expressions()


def _sums(node: exp.Expr) -> Iterator[_Breach]:
    if not isinstance(node, exp.Sum):
        return
    outer = node.parent
    while isinstance(outer, exp.Filter | exp.Window | exp.Paren | exp.Coalesce):
        outer = outer.parent
    # A comparison gives a boolean: the sum's own type goes nowhere.
    if not isinstance(outer, exp.Cast | exp.Predicate):
        yield "sum_type", node, f"{_short(node)} is not inside a cast"
    if any(
        isinstance(inner, exp.Div) or (isinstance(inner, exp.Cast) and inner.to.this in _FLOATS)
        for inner in _values(node.this)
    ):
        yield "float_sum", node, f"{_short(node)}"


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of an expression that lend it their type."""
    yield node
    if isinstance(node, _THROUGH):
        for inner in _operands(node):
            yield from _values(inner)


def _money(node: exp.Expr) -> Iterator[_Breach]:
    if not (isinstance(node, exp.Alias) and node.alias.endswith("_usd")):
        return
    for inner in node.this.walk():
        if isinstance(inner, exp.Literal) and not inner.is_string and not inner.is_int:
            yield "money_float", inner, f"the literal {inner.name} in {node.alias}"
        if isinstance(inner, exp.Cast) and inner.to.this in _FLOATS:
            yield "money_float", inner, f"{_short(inner)} in {node.alias}"


# -- functions --------------------------------------------------------------------------------


def _functions(node: exp.Expr) -> Iterator[_Breach]:
    if type(node) in _DENIED:
        yield _DENIED[type(node)], node, _short(node)
    elif isinstance(node, exp.Anonymous):
        name = node.name.lower()
        rules = [rule for pattern, rule in _DENIED_NAMES if re.fullmatch(pattern, name)]
        yield rules[0] if rules else "function", node, f"{name}()"
    elif isinstance(node, exp.Func) and type(node) not in FUNCTIONS:
        if isinstance(node.parent, exp.ToMap):
            return  # a map literal is parsed as a struct inside; one finding is enough
        yield "function", node, _short(node)


def _times(node: exp.Expr) -> Iterator[_Breach]:
    if isinstance(node, exp.DateDiff) and node.text("unit").upper() not in {
        "MICROSECOND", "MILLISECOND",
    }:  # fmt: skip
        yield "date_diff", node, f"{_short(node)}: use 'microsecond' and //"
    elif isinstance(node, exp.Extract) and node.name.upper() not in _EXTRACTS:
        rule = "epoch" if node.name.upper().startswith("EPOCH") else "extract"
        yield rule, node, _short(node)


def _order(node: exp.Expr) -> Iterator[_Breach]:
    if isinstance(node, exp.Window) and not node.args.get("order"):
        inner = node.this
        while isinstance(inner, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            inner = inner.this
        if isinstance(inner, _ORDERED):
            yield "window_order", node, f"{inner.key} over a window without order by"
        elif node.args.get("spec"):
            yield "window_order", node, f"a frame without order by in {_short(node)}"
    elif isinstance(node, exp.ArrayAgg):
        held = node.parent
        filtered = isinstance(held, exp.Filter)
        sorted_by = held.parent if isinstance(held, exp.Filter) else held
        if not (filtered and isinstance(sorted_by, exp.ArraySort)):
            yield "array_order", node, _short(node)


_CHECKS: tuple[Callable[[exp.Expr], Iterator[_Breach]], ...] = (
    _joins, _tables, _forms, _divisions, _casts, _sums, _money, _functions, _times, _order,
)  # fmt: skip
