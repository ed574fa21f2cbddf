"""Words that all Slurm commands share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.jobs.slurm_text import (
    Gpus,
    clock,
    duration_us,
    gpus,
    held_interval,
    hosts,
    indices,
    split_entries,
)
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError


def _clock(**options: object):  # type: ignore[no-untyped-def]
    return clock(SourceFile("f", "f", "slurm", "main", None, options), "THE EXPORT")


@pytest.mark.parametrize(
    ("text", "count", "types"),
    [
        ("", 0, None),
        ("cpu=1,mem=4G,node=1", 0, None),
        ("gpu=4", 4, None),
        ("gres/gpu:p100=1", 1, "p100=1"),
        ("gres/gpu:volta=2", 2, "volta=2"),
        ("billing=9,cpu=4,gres/gpu:tesla=4,mem=1G", 4, "tesla=4"),
        ("billing=3,gres/gpu:a100=4,gres/gpu:h100=2,gres/gpu=6,node=3", 6, "a100=4,h100=2"),
        ("cpu=3,gres/gpu=6,gres/gpu:h100=2,gres/gpu:a100=4", 6, "a100=4,h100=2"),
        ("gres/gpu:h100=2,gres/gpu:a100=4", 6, "a100=4,h100=2"),
        ("gpu:8(S:0-3)", 8, None),
        ("gpu:h100:2(IDX:2-3,5),gpu:a100:1(IDX:0)", 3, "a100=1,h100=2"),
        ("gres/gpu:1g.10gb=3", 3, "1g.10gb=3"),
        ("gres/gpumem=80G,gres/gpuutil=100", 0, None),
    ],
)
def test_gpus_count_the_total_else_the_typed_never_both(
    text: str, count: int, types: str | None
) -> None:
    found = gpus(text)
    assert (found.count, found.types_text) == (count, types)


def test_shares_of_gpus_are_told_apart() -> None:
    assert gpus("cpu=1,gres/shard=4") == Gpus(0, (), shared=True)
    assert not gpus("cpu=1,gres/shard=0").shared


@pytest.mark.parametrize("text", ["gres/gpu=two", "gres/gpu=-1", "gres/gpu", "gpu:8(S:0-3"])
def test_gpus_that_are_no_number_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"GPUs|neither|parenthesis"):
        gpus(text)


@given(st.dictionaries(st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True), st.integers(1, 64)))
def test_gpus_round_trip(types: dict[str, int]) -> None:
    typed = [f"gres/gpu:{name}={count}" for name, count in types.items()]
    total = f"gres/gpu={sum(types.values())}"
    expected = Gpus(sum(types.values()), tuple(sorted(types.items())))
    assert gpus(",".join(["billing=1", *typed, "mem=4G"])) == expected
    assert gpus(",".join([total, *typed])) == expected


@given(st.integers(0, 400), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_durations_round_trip(days: int, hours: int, minutes: int, seconds: int) -> None:
    us = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000
    assert duration_us(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == us
    if not days:
        assert duration_us(f"{hours:02}:{minutes:02}:{seconds:02}") == us


@pytest.mark.parametrize(
    ("text", "us"),
    [("", None), ("INVALID", None), ("Partition_Limit", None), ("00:01.5", 1_500_000)],
)
def test_durations_that_are_none_or_have_fractions(text: str, us: int | None) -> None:
    assert duration_us(text) == us


@given(st.sets(st.integers(0, 300), min_size=1))
def test_index_lists_round_trip(numbers: set[int]) -> None:
    ordered = sorted(numbers)
    parts: list[list[int]] = []
    for number in ordered:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    text = ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)
    assert indices(text) == ordered
    assert split_entries(f"gpu:h100:1(IDX:{text}),x") == [f"gpu:h100:1(IDX:{text})", "x"]


@pytest.mark.parametrize("text", ["3-1", "a", "1,,2", "0-99999999999", "-1"])
def test_bad_index_lists_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="index list"):
        indices(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("None assigned", []),
        ("gpu[001,003],rack2-gpu-11", ["gpu001", "gpu003", "rack2-gpu-11"]),
        ("n[1-2]-g[01-02]", ["n1-g01", "n1-g02", "n2-g01", "n2-g02"]),
        ("a[2,1]", ["a2", "a1"]),
    ],
)
def test_hosts(text: str, names: list[str]) -> None:
    assert hosts(text) == names


@pytest.mark.parametrize("text", ["gpu[001", "a[1-999999999]", "a b", "[1]" * 3000, "a[x-y]"])
def test_bad_hosts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="node list"):
        hosts(text)


def test_epoch_times_need_no_zone_and_absent_ones_are_none() -> None:
    times = _clock()
    assert times.read("1796074866") == (1796074866,)
    assert times.read("2026-11-30T21:41:06Z") == (1796074866,)
    assert times.read("2026-11-30T23:41:06+0200") == (1796074866,)
    assert times.read("2026-11-30T16:41:06-05:00") == (1796074866,)
    for text in ("Unknown", "None", "4294967294", "N/A"):
        assert times.read(text) == ()


@pytest.mark.parametrize("text", ["", "179607", "17960748660", "yesterday", "2026-13-01T00:00:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|month"):
        _clock(timezone="UTC").read(text)


def test_local_text_without_a_zone_asks_for_the_export_by_its_command() -> None:
    with pytest.raises(ConfigError, match="THE EXPORT"):
        _clock().read("2026-11-30T21:41:06")


@pytest.mark.parametrize("name", ["Europe/Nowhere", 3, "../etc/passwd"])
def test_a_zone_that_is_none_is_a_configuration_error(name: object) -> None:
    with pytest.raises(ConfigError, match="IANA"):
        _clock(timezone=name)


def test_a_fold_has_two_meanings_and_a_gap_none() -> None:
    times = _clock(timezone="America/New_York")
    assert times.read("2025-11-02T01:30:00") == (1762061400, 1762065000)
    assert times.read("2026-03-08T03:30:00") == (1772955000,)
    with pytest.raises(ValueError, match="does not exist"):
        times.read("2026-03-08T02:30:00")


def test_elapsed_time_tells_folds_apart() -> None:
    fold = (1762061400, 1762065000)
    assert held_interval(fold, fold, submits=fold, held_s=3600) == fold
    assert held_interval(fold, (fold[1] + 60,), submits=(), held_s=60)[0] == fold[1]
    # Both an hour early and an hour late fit: only the time of submission can tell.
    ends = (fold[0] + 60, fold[1] + 60)
    assert held_interval(fold, ends, submits=(fold[0] + 1,), held_s=60) == (fold[1], ends[1])
    with pytest.raises(ValueError, match="daylight saving"):
        held_interval(fold, ends, submits=fold, held_s=60)
    with pytest.raises(ValueError, match="daylight saving"):
        held_interval(fold, (), submits=(), held_s=None)
    # A job of no length holds nothing on either side.
    assert held_interval(fold, fold, submits=fold, held_s=0) == (fold[0], fold[0])
    with pytest.raises(ValueError, match="before Start"):
        held_interval((100,), (99,), submits=(), held_s=None)
