"""Which instants the bill pays; the split of a bundle's time over its lines, exact both ways."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.harness import expect, failed_checks, filled, run_model

PLACE = {
    "int_bundle_gpu": """
        bundle_id | gpu_uuid | place | start_ns | end_ns
        1         | a        | n:0   | 10:00    | 12:00
    """,
}
QUOTA = "bundle_id | place | quota_ns\n1 | n:0 | {}\n"
#: A piece of a GPU that nobody holds, that is up, and about which nothing is known.
DARK = {
    "gpu_uuid": "a", "bundle_id": "1", "hold_id": "0", "is_down": "false", "is_soft": "false",
    "is_covered": "false", "is_seen": "false", "has_maintenance": "false",
}  # fmt: skip


# --- int_placement --------------------------------------------------------------------------------


def test_held_time_is_paid_before_earlier_time_that_nobody_held() -> None:
    expect(
        "int_placement",
        {
            **PLACE,
            "int_place_quota": QUOTA.format("45min"),
            "int_elementary": filled(
                """
                start_ns | end_ns | hold_id | is_covered
                10:00    | 10:30  | 0       | true
                10:30    | 11:00  | 7       | true
                11:00    | 12:00  | 0       | true
                """,
                **DARK,
            ),
        },
        """
        start_ns | paid_until_ns | end_ns | is_placed
        10:00    | 10:15         | 10:30  | true
        10:30    | 11:00         | 11:00  | true
        11:00    | 11:00         | 12:00  | true
        """,
    )


def test_what_is_unknown_comes_before_what_is_free_and_a_broken_node_comes_last() -> None:
    expect(
        "int_placement",
        {
            **PLACE,
            "int_place_quota": QUOTA.format("70min"),
            "int_elementary": filled(
                """
                start_ns | end_ns | hold_id | is_down | is_soft | is_covered | is_seen
                10:00    | 10:20  | 0       | true    | false   | true       | false
                10:20    | 10:40  | 0       | false   | true    | true       | false
                10:40    | 11:00  | 0       | false   | false   | true       | false
                11:00    | 11:20  | 0       | false   | false   | false      | true
                11:20    | 11:40  | 0       | false   | false   | false      | false
                11:40    | 12:00  | 5       | true    | false   | true       | false
                """,
                **DARK,
            ),
        },
        # Held 20, unknown 40, free 10 of 20, broken 0. What nothing shows fills but is not placed.
        """
        start_ns | paid_until_ns | is_placed
        10:00    | 10:00         | true
        10:20    | 10:20         | true
        10:40    | 10:50         | true
        11:00    | 11:20         | true
        11:20    | 11:40         | false
        11:40    | 12:00         | true
        """,
    )


def test_gpus_that_follow_each_other_in_a_place_share_its_time() -> None:
    expect(
        "int_placement",
        {
            "int_bundle_gpu": """
            bundle_id | gpu_uuid | place | start_ns | end_ns
            1         | old      | n:0   | 10:00    | 10:30
            1         | new      | n:0   | 10:30    | 11:00
            1         | other    | n:1   | 10:00    | 11:00
            """,
            "int_place_quota": "bundle_id | place | quota_ns\n1 | n:0 | 40min\n1 | n:1 | 1h\n",
            "int_elementary": filled(
                """
                gpu_uuid | start_ns | end_ns | hold_id
                old      | 10:00    | 10:30  | 1
                new      | 10:30    | 11:00  | 2
                other    | 10:00    | 11:00  | 3
                """,
                **DARK,
            ),
        },
        """
        gpu_uuid | paid_until_ns
        old      | 10:30
        new      | 10:40
        other    | 11:00
        """,
    )


def test_a_place_without_billed_time_is_paid_nothing() -> None:
    expect(
        "int_placement",
        {
            **PLACE,
            "int_place_quota": QUOTA.format("0"),
            "int_elementary": filled("start_ns | end_ns | hold_id\n10:00 | 11:00 | 1\n", **DARK),
        },
        "paid_until_ns | is_placed\n10:00 | true\n",
    )


PIECES = st.lists(
    st.tuples(
        st.integers(1, 50), *[st.booleans()] * 6,
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(PIECES, st.integers(0, 300)), min_size=1, max_size=6))
def test_placement_is_a_greedy_fill_by_turn_and_time(bundles: list[Any]) -> None:
    """An oracle in plain Python, many bundles in one run."""
    pieces, gpus, quotas, wanted = [], [], [], {}
    for bundle, (lengths, quota) in enumerate(bundles, start=1):
        gpu, at, own = f"g{bundle}", 0, []
        for length, held, down, soft, covered, seen, window in lengths:
            piece = {
                "gpu_uuid": gpu, "bundle_id": bundle, "start_ns": at, "end_ns": at + length,
                "hold_id": 9 if held else 0, "is_down": down, "is_soft": soft,
                "is_covered": covered, "is_seen": seen, "has_maintenance": window,
            }  # fmt: skip
            own.append(piece)
            at += length
        pieces += own
        gpus.append(
            {"bundle_id": bundle, "gpu_uuid": gpu, "place": "p", "start_ns": 0, "end_ns": at}
        )
        quotas.append({"bundle_id": bundle, "place": "p", "quota_ns": quota})
        left = quota
        for piece in sorted(own, key=lambda p: (_turn(p), p["start_ns"])):
            paid = min(left, piece["end_ns"] - piece["start_ns"])
            wanted[gpu, piece["start_ns"]] = piece["start_ns"] + paid
            left -= paid
    found = run_model(
        "int_placement",
        {"int_elementary": pieces, "int_bundle_gpu": gpus, "int_place_quota": quotas},
    )
    assert {(r["gpu_uuid"], r["start_ns"]): r["paid_until_ns"] for r in found} == wanted


def _turn(piece: dict[str, Any]) -> int:
    if piece["hold_id"]:
        return 1
    if not piece["is_covered"] and not piece["is_down"]:
        return 2
    if piece["has_maintenance"]:
        return 3
    return 5 if piece["is_down"] or piece["is_soft"] else 4


# --- int_line_time --------------------------------------------------------------------------------


def test_commitment_and_on_demand_fill_each_row_together() -> None:
    expect(
        "int_line_time",
        {
            "int_bundle": "bundle_id | billed_gpu_ns\n1 | 100\n",
            "int_bundle_line": """
            bundle_id | line_id    | billed_gpu_ns
            1         | commitment | 60
            1         | on demand  | 40
            1         | disk       | 0
            """,
            "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | 75\n1 | 2 | 25\n",
        },
        """
        line_id    | row_no | gpu_ns
        commitment | 1      | 45
        commitment | 2      | 15
        on demand  | 1      | 30
        on demand  | 2      | 10
        """,
    )


def test_what_rounding_leaves_is_matched_in_order() -> None:
    expect(
        "int_line_time",
        {
            "int_bundle": "bundle_id | billed_gpu_ns\n1 | 3\n",
            "int_bundle_line": filled(
                "line_id | billed_gpu_ns\na | 1\nb | 1\nc | 1\n", bundle_id="1"
            ),
            "int_state": filled("row_no | gpu_ns\n1 | 2\n2 | 1\n", bundle_id="1"),
        },
        """
        line_id | row_no | gpu_ns
        a       | 1      | 1
        a       | 2      | 0
        b       | 1      | 1
        b       | 2      | 0
        c       | 1      | 0
        c       | 2      | 1
        """,
    )


def test_another_bundle_does_not_matter() -> None:
    expect(
        "int_line_time",
        {
            "int_bundle": "bundle_id | billed_gpu_ns\n1 | 10\n2 | 7\n",
            "int_bundle_line": "bundle_id | line_id | billed_gpu_ns\n1 | a | 10\n2 | b | 7\n",
            "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | 10\n2 | 1 | 7\n",
        },
        "bundle_id | line_id | row_no | gpu_ns\n1 | a | 1 | 10\n2 | b | 1 | 7\n",
    )


@st.composite
def margins(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Times of lines and of rows with the same sum, from nanoseconds to a fleet's month."""
    size = draw(st.sampled_from([10, 10**6, 3_600 * 10**9 * 8 * 744]))
    lines = draw(st.lists(st.integers(1, size), min_size=1, max_size=5))
    total = sum(lines)
    cuts = sorted(draw(st.sets(st.integers(1, total - 1), max_size=6))) if total > 1 else []
    rows = [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
    return lines, rows


@settings(max_examples=20, deadline=None)
@given(st.lists(margins(), min_size=1, max_size=12))
def test_both_margins_are_exact_and_no_cell_is_negative(bundles: list[Any]) -> None:
    tables: dict[str, list[dict[str, Any]]] = {
        "int_bundle": [], "int_bundle_line": [], "int_state": []
    }  # fmt: skip
    for no, (lines, rows) in enumerate(bundles, start=1):
        tables["int_bundle"].append({"bundle_id": no, "billed_gpu_ns": sum(lines)})
        tables["int_bundle_line"] += [
            {"bundle_id": no, "line_id": f"l{i}", "billed_gpu_ns": ns} for i, ns in enumerate(lines)
        ]
        tables["int_state"] += [
            {"bundle_id": no, "row_no": i, "gpu_ns": ns} for i, ns in enumerate(rows, start=1)
        ]
    cells = run_model("int_line_time", tables)
    for no, (lines, rows) in enumerate(bundles, start=1):
        own = [cell for cell in cells if cell["bundle_id"] == no]
        assert all(cell["gpu_ns"] >= 0 for cell in own)
        for i, ns in enumerate(lines):
            assert sum(c["gpu_ns"] for c in own if c["line_id"] == f"l{i}") == ns
        for i, ns in enumerate(rows, start=1):
            assert sum(c["gpu_ns"] for c in own if c["row_no"] == i) == ns
        for cell in own:
            # Never less than the share rounded down; more only by what rounding left elsewhere.
            line, row = lines[int(cell["line_id"][1:])], rows[cell["row_no"] - 1]
            floor = line * row // sum(lines)
            assert floor <= cell["gpu_ns"] <= floor + min(len(lines), len(rows))


def test_a_negative_time_fails_the_check() -> None:
    tables = {
        "int_bundle": "bundle_id | billed_gpu_ns\n1 | 10\n",
        "int_bundle_line": "bundle_id | line_id | billed_gpu_ns\n1 | a | 10\n",
        "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | -10\n1 | 2 | 20\n",
    }
    assert failed_checks("int_line_time", tables) == ["not_negative"]
