"""The option `pattern`: what a path says of job, attempt, rank, host and process."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ingest.file_names import OF_GPU, OF_JOB, OF_PROCESS, Named, path_pattern
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

UUID = "GPU-5c0a1de3-0a4d-4d9e-8f3e-2f1d3c4b5a69"


def named(
    name: str, pattern: object, *, marks: Mapping[str, str] = OF_JOB, must_fit: bool = True
) -> Named:
    options = {} if pattern is None else {"pattern": pattern}
    file = SourceFile(name, name, "traces", "h200", None, options)
    return path_pattern(file, marks).read(name, must_fit=must_fit)


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
    assert named(name, pattern, marks=OF_PROCESS) == found


def test_a_wildcard_stays_within_one_folder() -> None:
    assert named("job_7/x/y.json", "job_{job_id}/*.json", must_fit=False) == Named()


def test_no_pattern_says_nothing() -> None:
    assert named("job_7/x.json", None) == Named()


def test_a_file_that_does_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"does not fit the file b\.json"):
        named("b.json", "a_{rank}.json")


@pytest.mark.parametrize("mark", ["host", "pid", "node", ""])
def test_marks_that_a_kind_does_not_know(mark: str) -> None:
    with pytest.raises(ConfigError, match=r"expected \{job_id\}, \{attempt\}, \{rank\}, each"):
        named("x", "{" + mark + "}")


@pytest.mark.parametrize("pattern", ["", 7, [], ["a", ""], {"a": 1}])
def test_a_pattern_that_is_no_text(pattern: object) -> None:
    if pattern == []:
        assert named("x", pattern) == Named()
        return
    with pytest.raises(ConfigError, match="expected text"):
        named("x", pattern)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"counters/gpu-0/{UUID}.csv.gz", Named(node="gpu-0", gpu_uuid=UUID)),
        (f"counters/gpu-0/{UUID}-2026-11-03.csv", Named(node="gpu-0", gpu_uuid=UUID)),
        (f"counters/gpu-0/{UUID.upper()}.csv", Named(node="gpu-0", gpu_uuid=UUID.upper())),
        ("counters/gpu-0/0.csv", Named()),
    ],
)
def test_the_gpu_of_a_path(name: str, found: Named) -> None:
    """A day behind the UUID is no part of it."""
    pattern = "counters/{node}/{gpu_uuid}*.csv"
    assert named(name, pattern, marks=OF_GPU, must_fit=False) == found
