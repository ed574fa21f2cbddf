"""The option `pattern`: what a path says of job, attempt, rank, host and process."""

from __future__ import annotations

import pytest

from ingest.file_names import Named, named
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError


def file(name: str, **options: object) -> SourceFile:
    return SourceFile(name, name, "traces", "h200", None, options)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("job_{job_id}/*.json", "a/job_7/b.pt.trace.json.gz", Named("7")),
        ("job_{job_id}/*/steps_{rank}.jsonl", "job_7/x/steps_3.jsonl", Named("7", rank=3)),
        ("{host}_{pid}.*.json", "x/vm_440.17960742.pt.trace.json", Named(host="vm", pid=440)),
        ("*/try{attempt}/*rank{rank}.*", "j/try2/gpu-node-1_rank0.9.json", Named(None, 2, 0)),
        (["a_{rank}", "b_{rank}"], "b_4.gz", Named(rank=4)),
    ],
)
def test_marks_and_wildcards(pattern: object, name: str, found: Named) -> None:
    assert named(file(name, pattern=pattern), of_process=True) == found


def test_a_wildcard_stays_within_one_folder() -> None:
    assert named(file("job_7/x/y.json", pattern="job_{job_id}/*.json"), must_fit=False) == Named()


def test_no_pattern_says_nothing() -> None:
    assert named(file("job_7/x.json")) == Named()


def test_a_file_that_does_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"does not fit the file b\.json"):
        named(file("b.json", pattern="a_{rank}.json"))


@pytest.mark.parametrize("mark", ["host", "pid", "node", ""])
def test_marks_that_a_kind_does_not_know(mark: str) -> None:
    with pytest.raises(ConfigError, match=r"expected \{job_id\}, \{attempt\}, \{rank\}, each"):
        named(file("x", pattern="{" + mark + "}"))
