"""The portable subset: fixture files hold the cases, accepted and rejected.

`-- rejected: rule` says which rule alone must fire, `-- here` marks each line that it must name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
import sqlglot

from warehouse.errors import ModelError
from warehouse.models import parse_model
from warehouse.portable import FUNCTIONS, REASONS, lint, lint_model, to_spark

FIXTURES = Path(__file__).parents[1] / "fixtures" / "portable"


@dataclass(frozen=True)
class Case:
    file: str
    line: int
    verdict: str
    about: str
    sql: str


def read_cases() -> list[Case]:
    """The cases of all fixture files; each SQL keeps its lines by empty lines before it."""
    cases = []
    for path in sorted(FIXTURES.glob("*.sql")):
        lines = path.read_text().split("\n")
        heads = [i for i, text in enumerate(lines) if text.startswith(("-- acc", "-- rej"))]
        for head, following in zip(heads, [*heads[1:], len(lines)], strict=True):
            verdict, _, about = lines[head].removeprefix("-- ").partition(": ")
            sql = "\n" * (head + 1) + "\n".join(lines[head + 1 : following])
            cases.append(Case(path.name, head + 1, verdict, about, sql))
    return cases


CASES = read_cases()
ACCEPTED = [case for case in CASES if case.verdict == "accepted"]
REJECTED = [case for case in CASES if case.verdict == "rejected"]


def label(case: Case) -> str:
    return f"{case.file}:{case.line}"


@pytest.mark.parametrize("case", CASES, ids=label)
def test_cases_are_sql_that_duckdb_reads(case: Case) -> None:
    with duckdb.connect() as con:
        assert len(con.extract_statements(case.sql)) == 1


@pytest.mark.parametrize("case", ACCEPTED, ids=label)
def test_accepted(case: Case) -> None:
    assert lint(case.sql, Path(case.file)) == []
    assert to_spark(case.sql)


@pytest.mark.parametrize("case", REJECTED, ids=label)
def test_rejected_by_its_rule_alone_on_the_marked_lines(case: Case) -> None:
    findings = lint(case.sql, Path(case.file))
    marked = {i for i, text in enumerate(case.sql.split("\n"), 1) if text.endswith("-- here")}
    assert {f.rule for f in findings} == {case.about}, findings
    assert {f.line for f in findings} == marked, findings
    assert {f.reason for f in findings} == {REASONS[case.about]}
    assert all(f"line {f.line}: " in str(f) and f.reason in str(f) for f in findings)


def test_every_rule_has_a_rejected_case() -> None:
    assert {case.about for case in REJECTED} == set(REASONS)


def test_every_listed_function_has_an_accepted_case() -> None:
    used = {type(n) for c in ACCEPTED for n in sqlglot.parse_one(c.sql, read="duckdb").walk()}
    assert FUNCTIONS - used == set()


def test_checks_of_a_header_are_linted_too() -> None:
    text = (
        "/*\npurpose: p\ngrain: g\nkeys: a\ncolumns:\n    a | BIGINT | - | m\n"
        "checks:\n    half | blocking | a / 2 > 1\n    whole | blocking | a // 2 > 1\n*/\nselect a"
    )
    (finding,) = lint_model(parse_model(text, Path("m.sql"), layer="marts"))
    assert (finding.rule, finding.line) == ("division", 8)
    assert finding.message.startswith("check half: a / 2")


def test_spark_gets_decimals_where_duckdb_has_hugeint() -> None:
    assert to_spark("select cast(a as hugeint) // b as c from t") == (
        "SELECT CAST(a AS DECIMAL(38, 0)) DIV b AS c FROM t"
    )


def test_sql_that_cannot_be_parsed_is_a_model_error() -> None:
    with pytest.raises(ModelError, match=r"m\.sql:1: the SQL cannot be parsed"):
        lint("select (a from t", Path("m.sql"))
