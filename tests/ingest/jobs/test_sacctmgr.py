"""sacctmgr events to times in which nodes were not fit for work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.jobs import sacctmgr
from warehouse.errors import ConfigError, SourceError

Tables = dict[str, list[dict[str, Any]]]
ReadBytes = Callable[..., Tables]
HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
T0 = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)  # epoch 1700000000


def _at(seconds: int) -> datetime:
    return T0 + timedelta(seconds=seconds)


def _event(
    state: str = "DOWN*", *, node: str = "n1", end: str = "1700000100", reason: str = "why"
) -> str:
    return f"main|{node}|1700000000|{end}|{state}|{reason}|root(0)\n"


def test_a_real_output(read_bytes: ReadBytes, root: Path) -> None:
    path = root / "tests" / "fixtures" / "slurm" / "v22.05" / "sacctmgr_event.psv"
    tables = read_bytes(sacctmgr.read, path.read_bytes(), cluster=None, timezone="UTC")
    # sreport counts 108 GPU-seconds down: this node's four GPUs for 27 s.
    (event,) = tables["node_event"]
    assert (event["end"] - event["start"]).total_seconds() == 27
    assert (event["cluster"], event["node"], event["kind"]) == ("tracewh", "rack2-gpu-10", "down")
    assert (event["sub"], event["state"], event["reason"]) == (None, "DOWN*", "Not responding")
    (cover,) = tables["source_coverage"]
    assert (cover["source"], cover["cluster"]) == ("node_event", "tracewh")
    assert not tables["reject"]


def test_an_open_event_of_26_05(read_bytes: ReadBytes, shared_data: Path) -> None:
    data = (shared_data / "slurm" / "v26.05" / "sacctmgr_event.psv").read_bytes()
    (event,) = read_bytes(sacctmgr.read, data, timezone="UTC")["node_event"]
    assert (event["node"], event["end"], event["kind"]) == ("rack2-gpu-10", None, "down")


@pytest.mark.parametrize(
    ("state", "kind", "sub"),
    [
        ("DOWN", "down", None),
        ("DOWN*", "down", None),
        ("DOWN+DRAIN", "down", None),
        ("DOWN$", "down", None),
        ("DRAIN", "drain", None),
        ("DRAINED*", "drain", None),
        ("IDLE+DRAIN", "drain", None),
        ("MIXED+DRAIN+NOT_RESPONDING", "drain", None),
        ("FAIL", "drain", None),
        ("ALLOCATED+FAIL", "drain", None),
        ("UNK", "drain", None),
        ("IDLE+POWERED_DOWN", "drain", None),
        ("MAINT", "maintenance", "own_maintenance"),
        ("IDLE+MAINT+DRAIN", "maintenance", "own_maintenance"),
        ("REBOOT^", "boot", "boot"),
        ("IDLE+POWERING_UP", "boot", "boot"),
        ("POWERING_DOWN", "boot", "boot"),
        ("IDLE+DRAIN+REBOOT_REQUESTED", "boot", "boot"),
    ],
)
def test_states(read_bytes: ReadBytes, state: str, kind: str, sub: str | None) -> None:
    tables = read_bytes(sacctmgr.read, (HEADER + _event(state)).encode())
    assert [(e["kind"], e["sub"], e["state"]) for e in tables["node_event"]] == [(kind, sub, state)]
    assert not tables["reject"]


def test_what_is_no_unfit_time_gives_no_row(read_bytes: ReadBytes) -> None:
    text = HEADER + _event("IDLE") + _event("MIXED+PLANNED") + _event(end="1700000000")
    text += "main||1700000000|Unknown||Cluster Registered TRES|\n"
    tables = read_bytes(sacctmgr.read, text.encode())
    assert not tables["node_event"]
    assert not tables["reject"]


def test_reasons_prove_what_the_configuration_says(read_bytes: ReadBytes) -> None:
    text = HEADER + "".join(
        _event(state, node=f"n{i}", reason=reason)
        for i, (state, reason) in enumerate(
            [("DOWN*", "Xid 79 on GPU 3"), ("DRAIN", "maint window"), ("DOWN", "maint window"),
             ("MAINT", "Xid 79"), ("DRAIN", "")]
        )
    )  # fmt: skip
    options: dict[str, object] = {
        "provider_reasons": [r"Xid \d+"],
        "maintenance_reasons": ["(?i)MAINT"],
    }
    tables = read_bytes(sacctmgr.read, text.encode(), **options)
    assert [e["sub"] for e in tables["node_event"]] == [
        "provider_fault", "own_maintenance", None, "provider_fault", None,
    ]  # fmt: skip
    assert tables["node_event"][-1]["reason"] is None
    subs = {e["sub"] for e in read_bytes(sacctmgr.read, text.encode())["node_event"]}
    assert subs == {None, "own_maintenance"}


def test_a_host_list_is_one_row_per_node(read_bytes: ReadBytes) -> None:
    tables = read_bytes(sacctmgr.read, (HEADER + _event(node="n[1-2],m7", end="Unknown")).encode())
    assert [(e["node"], e["start"], e["end"]) for e in tables["node_event"]] == [
        ("n1", _at(0), None), ("n2", _at(0), None), ("m7", _at(0), None),
    ]  # fmt: skip


def test_free_text_in_reasons(read_bytes: ReadBytes) -> None:
    reasons = ["a|b", "a\nb", "|", "1\n2|3\n"]
    text = HEADER + "".join(_event(node=f"n{i}", reason=r) for i, r in enumerate(reasons))
    tables = read_bytes(sacctmgr.read, text.encode())
    assert [e["reason"] for e in tables["node_event"]] == reasons
    assert not tables["reject"]


@pytest.mark.parametrize(
    ("line", "reason", "cut"),
    [
        (_event("BROKEN"), "unknown word", ("n1", 0, 100)),
        (_event(end="1699999999"), "before Start", ("n1", 0, 500)),
        (_event(end=""), "TimeEnd", ("n1", 0, 500)),
        (_event(node="n[1"), "node list", (None, 0, 100)),
        ("main|n1|Unknown|Unknown|DOWN|x|root\n", "TimeStart", ("n1", 0, 500)),
        ("main|n1|1700000000|1700000100|DOWN\n", "5 fields", (None, 0, 500)),
        ("n1|1700000000|1700000100|DOWN|x|root\n", "6 fields", (None, 0, 500)),
        ("main|n1|17000", "3 fields", (None, 0, 500)),
    ],
)
def test_a_bad_event_is_rejected_and_cuts_coverage(
    read_bytes: ReadBytes, line: str, reason: str, cut: tuple[str | None, int, int]
) -> None:
    text = HEADER + _event(node="n7", end="1700000500") + line
    tables = read_bytes(sacctmgr.read, text.encode())
    assert [e["node"] for e in tables["node_event"]] == ["n7"]
    assert reason in tables["reject"][0]["reason"]
    cuts = [(c["node"], c["start"], c["end"]) for c in tables["source_coverage"] if c["is_cut"]]
    assert cuts == [(cut[0], _at(cut[1]), _at(cut[2]))]


def test_coverage_and_errors(read_bytes: ReadBytes) -> None:
    tables = read_bytes(sacctmgr.read, HEADER.encode(), covers=(0, 10**18))
    assert [(c["source"], c["cluster"]) for c in tables["source_coverage"]] == [
        ("node_event", "main")
    ]
    with pytest.raises(SourceError, match="sacctmgr --parsable2 show event"):
        read_bytes(sacctmgr.read, b"You are not running a supported accounting_storage plugin\n")
    with pytest.raises(ConfigError, match="cluster ="):
        read_bytes(sacctmgr.read, b"NodeName|TimeStart|TimeEnd|State\n", cluster=None)
    local = HEADER.encode() + b"main|n1|2026-11-30T21:41:06|Unknown|DOWN|x|root\n"
    with pytest.raises(ConfigError, match="timezone"):
        read_bytes(sacctmgr.read, local)


@pytest.mark.parametrize("value", ["Xid", [3], ["("]])
def test_reasons_that_are_no_expressions(read_bytes: ReadBytes, value: object) -> None:
    with pytest.raises(ConfigError, match="regular expression"):
        read_bytes(sacctmgr.read, HEADER.encode(), provider_reasons=value)
