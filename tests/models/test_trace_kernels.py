"""What kernels cost, and what their ops' shapes say of them against the roofline."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.traces.op_work import work
from tests.models.harness import Rows, expect, filled, run_model

TRACE = {"trace_no": "1", "source_file": "f", "cluster": "c1", "job_id": "7", "attempt": "0"}
HOLD = {
    "hold_id": "4", "gpu_model": "NVIDIA H200", "team": "nlp", "cluster": "c1", "job_id": "7",
    "attempt": "0", "rank_count": "1", "rank": "0",
}  # fmt: skip
#: One traced step of a second.
STEP = {
    "window_id": "1", "trace_no": "1", "hold_id": "4", "start_ns": "0", "end_ns": "1s",
    "step": "1", "log_start_ns": "0", "log_end_ns": "1s",
}  # fmt: skip
MONTH = {"month": "2026-11-01", "team": "nlp", "cluster": "c1", "job_id": "7", "attempt": "0",
         "hold_id": "4", "method_id": "in_step_trace"}  # fmt: skip


def money(rows: str, **same: str) -> list[dict[str, Any]]:
    """int_bucket_money rows `bucket gpu_ns usd; ...`, bounds as the point."""
    found = []
    for text in rows.split(";"):
        bucket, ns, usd = text.split()
        found.append({
            **MONTH, "bucket": bucket, "gpu_ns": ns, "low_gpu_ns": ns, "high_gpu_ns": ns,
            "billed_usd": usd, **same,
        })  # fmt: skip
    return found


def traced(
    kernels: list[dict[str, Any]], ops: list[dict[str, Any]], paid: list[dict[str, Any]],
    **more: Rows,
) -> dict[str, Rows]:  # fmt: skip
    """A traced step of hold 4 with these kernels and ops, and what its buckets cost."""
    return {
        "int_trace": [TRACE],
        "int_trace_step": [STEP],
        "int_gpu_work": [
            {"trace_no": 1, "event_no": n, "hold_id": 4, "kind": "compute", "family": "k",
             "is_graph": False, "is_tf32": False, **row}
            for n, row in enumerate(kernels, 1)
        ],
        "stg_trace_op": [
            {"source_file": "f", "event_no": 100 + n, "pid": 9, "tid": 9, "external_id": n,
             "start_ns": 0, "end_ns": 1, "is_backward": False, **row}
            for n, row in enumerate(ops, 1)
        ],
        "int_hold": [HOLD],
        "int_trace_fit": "hold_id | has_log | steps_ppm | window_count\n4 | true | 1000000 | 1\n",
        "int_bucket_money": paid,
        # The first hour of the epoch, in which the steps lie here, and one of the test day's.
        "run_hour": "hour_id | month\n0 | 2026-11-01\n498202 | 2026-11-01\n",
        **more,
    }  # fmt: skip


# --- the roofline, from shapes --------------------------------------------------------------------

BF16 = "c10::BFloat16"
#: Op, its input shapes and types, and a time that is near what an H200 can attain, in ns.
#: 16 x 2048 tokens of a product: 1.1e12 FLOPs at 989.4e12 are 1,111 us. At batch 1 its weights,
#: 50 MB at 4.8e12 B/s, are 21 us. The others move 50 and 34 MB.
SHAPES: dict[str, tuple[str, list[list[int]], list[str], list[str], int]] = {
    "product": ("aten::mm", [[32768, 2048], [2048, 8192]], [BF16, BF16], ["", ""], 1_400_000),
    "decode": ("aten::linear", [[1, 4096], [12288, 4096]], [BF16, BF16], ["", ""], 28_000),
    "add": ("aten::add", [[4, 1024, 2048], [4, 1024, 2048], []], [BF16, BF16, "Scalar"],
            ["", "", "1"], 13_000),
    "norm": ("aten::native_layer_norm", [[4, 1024, 2048], [], [2048], [2048], []],
             [BF16, "ScalarList", BF16, BF16, "Scalar"], ["", "[2048]", "", "", "1e-05"], 9_000),
}  # fmt: skip


def cost_of(shape: str, slower: int) -> dict[str, Any]:
    """kernel_cost's row of one kernel that does this op's work, so many times slower."""
    name, dims, types, concrete, run_ns = SHAPES[shape]
    found = work(name, dims, types, concrete)
    assert found.bytes is not None
    op = {"name": name, "flops": found.flops, "bytes": found.bytes, "math_dtype": found.math_dtype}
    kernel = {"start_ns": 10, "end_ns": 10 + run_ns * slower, "external_id": 1}
    [row] = run_model("kernel_cost", traced([kernel], [op], money("compute 100 5")))
    assert row["op"] == name
    return row


@pytest.mark.parametrize(
    ("shape", "side"),
    [("product", "compute"), ("decode", "memory"), ("add", "memory"), ("norm", "memory")],
)
def test_the_side_of_the_roofline_and_what_limits_follow_from_the_shapes(
    shape: str, side: str
) -> None:
    fast = cost_of(shape, 1)
    assert (fast["bound"], fast["limiter"]) == (side, side)
    assert 0.6 < fast["achieved_ratio"] <= 1
    slow = cost_of(shape, 10)
    assert (slow["bound"], slow["limiter"]) == (side, "latency")
    assert slow["achieved_ratio"] == pytest.approx(fast["achieved_ratio"] / 10, rel=1e-3)


def bound(flops: int | None, moved: int | None, run_ns: int, **op: Any) -> tuple[Any, ...]:
    """(bound, limiter, achieved) of one kernel of bf16."""
    given = {"name": "op", "flops": flops, "bytes": moved, "math_dtype": "bf16", **op}
    kernel = {"start_ns": 0, "end_ns": run_ns, "external_id": 1}
    [row] = run_model("kernel_cost", traced([kernel], [given], money("compute 100 5")))
    return row["bound"], row["limiter"], row["achieved_ratio"]


def test_the_limits_of_the_roofline_are_exact() -> None:
    # 989,400 FLOPs take a nanosecond at peak, 4,800 bytes at full bandwidth.
    assert bound(600 * 989_400, 600 * 4800, 1000) == ("compute", "compute", 0.6)
    assert bound(599 * 989_400, 600 * 4800, 1000) == ("memory", "memory", 0.6)
    assert bound(599 * 989_400, 599 * 4800, 1000) == ("compute", "latency", 0.599)
    # Faster than the roofline, as out of a cache: no more than all of it.
    assert bound(0, 2000 * 4800, 1000) == ("memory", "memory", 1.0)


@pytest.mark.parametrize(
    "op",
    [
        {"flops": None}, {"moved": None}, {"math_dtype": "int4"}, {"math_dtype": None},
    ],
)  # fmt: skip
def test_what_is_not_known_has_no_bound(op: dict[str, Any]) -> None:
    given = {"flops": 10**9, "moved": 10**6, "run_ns": 1000, **op}
    assert bound(**given) == (None, None, None)


def test_a_gpu_without_a_peak_or_a_bandwidth_has_no_bound() -> None:
    kernel = {"start_ns": 0, "end_ns": 1000, "external_id": 1}
    op = {"name": "op", "flops": 10**9, "bytes": 10**6, "math_dtype": "bf16"}
    tables = traced([kernel], [op], money("compute 100 5"), int_hold=[{**HOLD, "gpu_model": "TPU"}])
    [row] = run_model("kernel_cost", tables)
    assert (row["bound"], row["limiter"], row["achieved_ratio"]) == (None, None, None)


def test_no_flops_need_no_peak() -> None:
    assert bound(0, 600 * 4800, 1000, math_dtype=None) == ("memory", "memory", 0.6)


def test_a_product_of_fp32_that_its_name_shows_in_tf32_is_held_against_that_peak() -> None:
    op = {"name": "aten::mm", "flops": 669_000_000, "bytes": 0, "math_dtype": "fp32"}
    expected = {False: 10_000, True: 669_000_000 // 494_700}
    for is_tf32, flops_ns in expected.items():
        kernel = {"start_ns": 0, "end_ns": 20_000, "external_id": 1, "is_tf32": is_tf32}
        tables = traced([kernel], [op], [])
        [row] = run_model("int_kernel_work", {
            k: tables[k] for k in ("int_trace", "int_gpu_work", "stg_trace_op", "int_hold")
        })  # fmt: skip
        assert row["flops_ns"] == flops_ns


def test_an_op_of_several_kernels_gives_each_a_part_by_its_duration() -> None:
    kernels = [
        {"start_ns": 0, "end_ns": 300, "external_id": 1},
        {"start_ns": 500, "end_ns": 600, "external_id": 1},
        {"start_ns": 700, "end_ns": 800, "external_id": 1, "kind": "copy"},
        {"start_ns": 800, "end_ns": 900},
    ]
    op = {"name": "op", "flops": 4_000_000, "bytes": 800, "math_dtype": "bf16"}
    tables = traced(kernels, [op], [])
    expect(
        "int_kernel_work",
        {k: tables[k] for k in ("int_trace", "int_gpu_work", "stg_trace_op", "int_hold")},
        """
        event_no | run_ns | flops   | bytes | flops_ns
        1        | 300    | 3000000 | 600   | 3
        2        | 100    | 1000000 | 200   | 1
        3        | 100    |         |       |
        4        | 100    |         |       |
        """,
    )


# --- kernel_cost: sums ----------------------------------------------------------------------------

#: Two families of compute, 3 to 1, and a collective that waits.
KERNELS = [
    {"start_ns": 0, "end_ns": 300, "family": "gemm"},
    {"start_ns": 300, "end_ns": 400, "family": "add"},
    {"start_ns": 500, "end_ns": 600, "family": "nccl", "kind": "comm"},
]


def test_kernels_of_a_bucket_sum_to_it_and_loaded_ones_to_the_job() -> None:
    paid = money("compute 401 10; comm_exposed 99 2; startup 500 7; launch_gap 100 1")
    expect(
        "kernel_cost",
        traced(KERNELS, [], paid),
        """
        bucket       | kernel_family | traced_calls | traced_gpu_ns | gpu_ns | direct_usd | loaded_usd
        compute      | gemm          | 1            | 300           | 301    | 7.5        | 12.316
        compute      | add           | 1            | 100           | 100    | 2.5        | 4.1
        comm_exposed | nccl          | 1            | 100           | 99     | 2          | 3.584
        """,  # noqa: E501
    )  # fmt: skip


def test_a_job_that_no_trace_divides_is_not_traced() -> None:
    by_counters = money("compute 400 10", method_id="in_step_engine_share")
    expect(
        "kernel_cost",
        traced([], [], [*by_counters, *money("gap_unknown 100 3")], int_trace_step=[]),
        """
        bucket  | module | op | kernel_family | traced_calls | calls | gpu_ns | direct_usd | loaded_usd | coverage_ratio
        compute |        |    | (not traced)  | 0            |       | 400    | 10         | 13         | 0
        """,  # noqa: E501
    )  # fmt: skip


def test_a_job_without_a_kernels_bucket_keeps_its_cost_in_one_row() -> None:
    expect(
        "kernel_cost",
        traced([], [], money("startup 400 10; idle_held 5 1"), int_trace_step=[]),
        """
        bucket | kernel_family | gpu_ns | direct_usd | loaded_usd | coverage_ratio
               | (not traced)  | 0      | 0          | 11         |
        """,
    )


def test_a_credit_is_divided_like_a_charge() -> None:
    rows = run_model(
        "kernel_cost",
        traced(KERNELS, [], money("compute 400 -1; comm_exposed 100 -2; startup 9 3")),
    )
    direct = {row["kernel_family"]: row["direct_usd"] for row in rows}
    assert direct == {"gemm": Decimal("-0.75"), "add": Decimal("-0.25"), "nccl": Decimal(-2)}
    assert sum(row["loaded_usd"] for row in rows) == 0
    negative = run_model("kernel_cost", traced(KERNELS, [], money("compute 400 0; startup 9 -1")))
    assert sum(row["loaded_usd"] for row in negative) == -1
    assert all(row["loaded_usd"] < 0 for row in negative)


USD = st.decimals(-(10**6), 10**6, places=12)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 999), min_size=1, max_size=7).filter(any), st.integers(1, 10**15), USD
)
def test_any_kernels_divide_any_bucket_exactly(runs: list[int], total: int, usd: Decimal) -> None:
    rows = run_model("int_kernel_cost", {
        "int_kernel_row": [
            {"hold_id": 4, "bucket": "compute", "row_no": n, "traced_ns": ns, "kernel_family": n}
            for n, ns in enumerate(runs, 1)
        ],
        "int_bucket_money": money(f"compute {total} {usd:f}"),
    })  # fmt: skip
    assert sum(row["gpu_ns"] for row in rows) == total
    assert sum(row["pico_usd"] for row in rows) == usd * 10**12
    for row in rows:
        share = Decimal(runs[row["row_no"] - 1]) / sum(runs)
        assert abs(row["pico_usd"] - usd * 10**12 * share) <= 1
        assert abs(row["gpu_ns"] - total * share) <= 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**15), USD), max_size=5), USD)
def test_any_cost_of_a_job_is_loaded_on_its_kernels_exactly(
    kernels: list[tuple[int, Decimal]], other: Decimal
) -> None:
    paid = money("; ".join([f"startup 7 {other:f}", *(f"compute {n} {d:f}" for n, d in kernels)]))
    rows = run_model("kernel_cost", {
        "int_bucket_money": paid,
        "int_job_kernel": [
            {**{k: v for k, v in MONTH.items() if k in ("month", "team", "cluster", "job_id")},
             "bucket": "compute", "kernel_family": n, "gpu_ns": ns, "pico_usd": int(usd * 10**12)}
            for n, (ns, usd) in enumerate(kernels)
        ],
    })  # fmt: skip
    assert sum(row["loaded_usd"] for row in rows) == sum((usd for _, usd in kernels), other)
    assert len(rows) == max(len(kernels), 1)


def test_bounds_of_kernels_follow_their_buckets() -> None:
    paid = [{**money("compute 400 10")[0], "low_gpu_ns": "200", "high_gpu_ns": "600"}]
    rows = run_model("kernel_cost", traced(KERNELS[:2], [], paid))
    assert {row["kernel_family"]: (row["low_usd"], row["high_usd"]) for row in rows} == {
        "gemm": (Decimal("3.75"), Decimal("11.25")), "add": (Decimal("1.25"), Decimal("3.75")),
    }  # fmt: skip


def test_two_teams_or_months_of_a_job_are_divided_alone() -> None:
    later = money("compute 100 4; startup 1 1", month="2026-12-01")
    rows = run_model("kernel_cost", traced(KERNELS[:2], [], [*money("compute 400 10"), *later]))
    sums: dict[str, Decimal] = {}
    for row in rows:
        month = row["month"].isoformat()
        sums[month] = sums.get(month, Decimal(0)) + row["loaded_usd"]
    assert sums == {"2026-11-01": Decimal(10), "2026-12-01": Decimal(5)}


def test_calls_are_an_estimate_for_all_logged_steps() -> None:
    log = filled("step\n1\n2\n3\n4\n5\n", hold_id="4", start_ns="10:00")
    november: Rows = [dict(STEP, start_ns="10:00", end_ns="10:00:01")]
    at = {"start_ns": "10:00", "end_ns": "10:00:00.5"}
    tables = traced([{"family": "k", **at}, {"family": "k", **at}], [], money("compute 400 10"),
                    int_step=log, int_trace_step=november)  # fmt: skip
    expect("kernel_cost", tables, "traced_calls | calls\n2 | 10\n")
    # Half of a logged step was traced: twice as many.
    tables["int_trace_fit"] = "hold_id | has_log | steps_ppm\n4 | true | 500000\n"
    expect("kernel_cost", tables, "traced_calls | calls\n2 | 20\n")
    tables["int_step"] = []
    expect("kernel_cost", tables, "traced_calls | calls\n2 |\n")


def test_traced_work_stands_in_the_month_of_its_step_and_its_shares_in_every_month() -> None:
    later = money("compute 300 3", month="2026-12-01")
    steps = [STEP, dict(STEP, window_id="2", start_ns="10:00", end_ns="10:01", step="2")]
    kernels = [
        {"start_ns": 0, "end_ns": 100}, {"start_ns": "10:00", "end_ns": "10:00:00.0000002"},
    ]  # fmt: skip
    hours = "hour_id | month\n0 | 2026-11-01\n498202 | 2026-12-01\n"
    tables = traced(kernels, [], [*money("compute 600 6"), *later], int_trace_step=steps,
                    run_hour=hours)  # fmt: skip
    expect(
        "kernel_cost", tables,
        """
        month      | traced_calls | traced_gpu_ns | gpu_ns | direct_usd
        2026-11-01 | 1            | 100           | 600    | 6
        2026-12-01 | 1            | 200           | 300    | 3
        """,
    )  # fmt: skip


def test_module_and_op_are_keys_and_null_where_unproven() -> None:
    kernels = [
        {"start_ns": 0, "end_ns": 300, "external_id": 1},
        {"start_ns": 300, "end_ns": 400},
        {"start_ns": 400, "end_ns": 500, "external_id": 1, "is_graph": True},
    ]
    op = {"name": "aten::mm", "flops": None, "bytes": None}
    expect(
        "kernel_cost",
        traced(kernels, [op], money("compute 500 10")),
        """
        op       | kernel_family | traced_calls | direct_usd
        aten::mm | k             | 1            | 6
                 | k             | 2            | 4
        """,
    )


def test_coverage_is_the_traced_time_over_the_jobs_in_step_time() -> None:
    paid = money("compute 4000 10; launch_gap 4000 1; startup 9000 1")
    tables = traced(KERNELS[:2], [], paid)
    tables["int_trace_step"] = [dict(STEP, start_ns="10:00", end_ns="10:00:01")]
    tables["int_gpu_work"] = [
        {"trace_no": 1, "event_no": 1, "hold_id": 4, "kind": "compute", "family": "k",
         "start_ns": "10:00", "end_ns": "10:00:00.000001"},
    ]  # fmt: skip
    bucket = "window_id | trace_no | hold_id | bucket | traced_ns | logged_ns\n"
    tables["int_trace_bucket"] = bucket + "1 | 1 | 4 | compute | 900 | 800\n"
    [row] = run_model("kernel_cost", tables)
    assert row["coverage_ratio"] == 0.1
    # Without a log the whole of the profiler's step; never more than all.
    tables["int_trace_fit"] = "hold_id | has_log | steps_ppm\n4 | false | 1000000\n"
    assert run_model("kernel_cost", tables)[0]["coverage_ratio"] == 0.1125
    tables["int_trace_bucket"] = bucket + "1 | 1 | 4 | compute | 90000 | 9\n"
    assert run_model("kernel_cost", tables)[0]["coverage_ratio"] == 1


# --- compute_split --------------------------------------------------------------------------------


def parts(
    ops: list[dict[str, Any]], lengths: list[int], paid: str, model: str | None = None,
    method: str = "in_step_trace",
) -> dict[str, tuple[int, Decimal, str]]:  # fmt: skip
    """compute_split of hold 4 whose kernels do one op each; `model` FLOPs by the log."""
    kernels, at = [], 0
    for number, length in enumerate(lengths, 1):
        kernels.append({"start_ns": at, "end_ns": at + length, "external_id": number})
        at += length
    tables = traced(kernels, ops, money(paid, method_id=method))
    del tables["int_trace_fit"]
    tables["int_step"] = [] if model is None else [
        {"hold_id": 4, "step": 1, "start_ns": 0, "end_ns": "1s", "model_flops": model}
    ]  # fmt: skip
    return {
        row["part"]: (row["gpu_ns"], row["billed_usd"], row["method_id"])
        for row in run_model("compute_split", tables)
    }


#: In ns at peak and at full bandwidth: a product of 400 and 100, an add of 0 and 300, one without
#: shapes, and a product that its memory holds up: 50 and 150.
PRODUCT = {"name": "mm", "flops": 400 * 989_400, "bytes": 100 * 4800, "math_dtype": "bf16"}
ADD = {"name": "add", "flops": 0, "bytes": 300 * 4800, "math_dtype": None}
BARE = {"name": "custom", "flops": None, "bytes": None, "math_dtype": None}
DECODE = {"name": "mv", "flops": 50 * 989_400, "bytes": 150 * 4800, "math_dtype": "bf16"}


def test_the_parts_of_compute_are_what_the_roofline_says_and_sum_to_it() -> None:
    found = parts([PRODUCT, ADD, BARE, DECODE], [500, 300, 100, 200], "compute 1100 11")
    method = "compute_split_shapes"
    assert found == {
        "executed_flops": (450, Decimal("4.5"), method),
        "memory_ceiling": (100, Decimal(1), method),
        "below_roofline": (150, Decimal("1.5"), method),
        "non_math": (300, Decimal(3), method),
        "unsplit": (100, Decimal(1), method),
    }


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (str(400 * 989_400), {"model_flops": 400}),
        (str(300 * 989_400), {"model_flops": 300, "recompute": 100}),
        # A log of 0 FLOPs, as a notebook's, says nothing about them.
        ("0", {"executed_flops": 400}),
        # The log claims more than was executed: all that was.
        (str(999 * 989_400), {"model_flops": 400}),
    ],
)
def test_flops_beyond_what_the_model_needs_are_recompute(
    model: str, expected: dict[str, int]
) -> None:
    found = parts([PRODUCT], [500], "compute 500 5", model)
    assert {name: row[0] for name, row in found.items()} == {**expected, "below_roofline": 100}


def test_a_step_that_is_traced_in_part_needs_that_part_of_the_logs_flops() -> None:
    tables = traced([{"start_ns": 0, "end_ns": 500, "external_id": 1}], [PRODUCT],
                    money("compute 500 5"))  # fmt: skip
    del tables["int_trace_fit"]
    # The logged step is four times as long as the traced one.
    tables["int_trace_step"] = [{**STEP, "log_end_ns": "4s"}]
    tables["int_step"] = [
        {"hold_id": 4, "step": 1, "start_ns": 0, "end_ns": "4s", "model_flops": 1200 * 989_400}
    ]
    expect(
        "compute_split",
        tables,
        "part | gpu_ns\nmodel_flops | 300\nrecompute | 100\nbelow_roofline | 100\n",
    )


def test_without_traces_compute_is_unsplit() -> None:
    found = parts([PRODUCT], [500], "compute 700 7", method="in_step_engine_share")
    assert found == {"unsplit": (700, Decimal(7), "not_traced")}


def test_an_unfit_trace_still_divides_what_its_compute_was_for() -> None:
    found = parts([PRODUCT], [500], "compute 500 5", method="in_step_trace_unfit")
    assert {name: row[0] for name, row in found.items()} == {
        "executed_flops": 400, "below_roofline": 100,
    }  # fmt: skip


def test_communication_and_copies_are_no_compute() -> None:
    assert parts([PRODUCT], [500], "comm_exposed 700 7") == {}


def test_a_kernel_faster_than_the_roofline_has_no_shortfall() -> None:
    found = parts([PRODUCT, DECODE], [300, 100], "compute 400 4")
    assert {name: row[0] for name, row in found.items()} == {
        "executed_flops": 350, "memory_ceiling": 50,
    }  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 10**9), min_size=5, max_size=5).filter(lambda ns: ns[4] > 0),
    st.integers(1, 10**14), USD, st.none() | st.integers(0, 10**12),
)  # fmt: skip
def test_any_parts_sum_to_compute_exactly(
    lengths: list[int], total: int, usd: Decimal, model: int | None
) -> None:
    executed, ceiling, shortfall, non_math, unsplit = lengths
    rows = run_model("int_compute_part", {
        "int_kernel_row": [{
            "hold_id": 4, "bucket": "compute", "traced_ns": sum(lengths), "executed_ns": executed,
            "executed_flops": executed * 1000, "ceiling_ns": ceiling, "shortfall_ns": shortfall,
            "non_math_ns": non_math,
        }],
        "int_trace_step": [STEP],
        "int_step": [] if model is None else [
            {"hold_id": 4, "step": 1, "start_ns": 0, "end_ns": "1s", "model_flops": model}
        ],
        "int_bucket_money": money(f"compute {total} {usd:f}"),
    })  # fmt: skip
    assert sum(row["gpu_ns"] for row in rows) == total
    assert sum(row["pico_usd"] for row in rows) == usd * 10**12
    found = {row["part"]: row["gpu_ns"] for row in rows}
    assert min(found.values()) >= 0
    needed = min(model or 0, executed * 1000) // 1000
    share = Decimal(total) / sum(lengths)
    assert abs(found.get("model_flops", 0) - needed * share) <= 1
    assert abs(found.get("unsplit", 0) - unsplit * share) <= 1
