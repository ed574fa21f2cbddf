"""From a kernel up to its launch, op and module, within its file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import Rows, expect, run_model
from tests.models.test_trace_pieces import spans

TRACES = "trace_no | source_file | job_id\n1 | f | 7\n2 | g | 7\n"


def links(
    work: str, *, launches: str = "", ops: str = "", modules: str = "", graph: bool = False,
    backward: str = "", forward: str = "", **more: Rows,
) -> list[tuple[int | None, str | None, str | None, bool]]:  # fmt: skip
    """(op number, op, module, has launch) of GPU work `correlation external_id start end`.

    Launches are `correlation tid start end`, ops `name external_id tid start end` (0: no id),
    modules `path tid start end`; forward and backward ops `name sequence tid start end` follow
    the ops. An event's number is its place in its list, from 101 for backward, 201 for forward."""
    head = "name sequence_number tid"
    both = [
        {**row, "event_no": int(row["event_no"]) + first, "is_backward": first == 100}
        for first, text in ((100, backward), (200, forward))
        for row in spans(text, head, source_file="f", pid="9")
    ]
    tables: dict[str, Rows] = {
        "int_trace": TRACES,
        "int_gpu_work": [
            {**row, "external_id": None if row["external_id"] == "0" else row["external_id"]}
            for row in spans(work, "correlation external_id", trace_no="1", hold_id="4",
                             is_graph=str(graph).lower())
        ],
        "stg_trace_launch": spans(launches, "correlation tid", source_file="f", pid="9"),
        "stg_trace_op": [
            {**row, "external_id": None if row["external_id"] == "0" else row["external_id"]}
            for row in spans(ops, "name external_id tid", source_file="f", pid="9",
                             is_backward="false")
        ] + both,
        "stg_trace_annotation": spans(modules, "module_path tid", source_file="f", pid="9",
                                      kind="module"),
        **more,
    }  # fmt: skip
    return [
        (row["op_no"], row["op"], row["module"], row["has_launch"])
        for row in run_model("int_kernel_op", tables)
    ]


# --- the op ---------------------------------------------------------------------------------------


def test_the_op_by_external_id_whatever_runs_around_the_launch() -> None:
    found = links(
        "1 31 100 200",
        launches="1 9 40 45",
        ops="aten::linear 30 9 0 60; aten::addmm 31 9 10 20; aten::relu 32 9 38 50",
    )
    assert found == [(2, "aten::addmm", None, True)]


def test_without_an_external_id_the_innermost_op_around_the_launch() -> None:
    ops = "aten::linear 30 9 0 60; aten::addmm 31 9 10 50; aten::relu 32 9 60 80"
    assert links("1 0 100 200", launches="1 9 40 45", ops=ops) == [(2, "aten::addmm", None, True)]
    assert links("1 0 100 200", launches="1 9 55 58", ops=ops) == [(1, "aten::linear", None, True)]
    # An id that no op of the file has is none.
    assert links("1 77 100 200", launches="1 9 40 45", ops=ops)[0][:2] == (2, "aten::addmm")
    assert links("1 0 100 200", launches="1 9 90 95", ops=ops) == [(None, None, None, True)]


def test_an_external_id_that_two_ops_have_names_neither() -> None:
    ops = "aten::mm 31 9 0 10; aten::bmm 31 9 20 30"
    assert links("1 31 100 200", ops=ops) == [(None, None, None, False)]
    around = links("1 31 100 200", launches="1 9 22 25", ops=ops)
    assert around == [(2, "aten::bmm", None, True)]


def test_only_the_launchs_own_thread_counts() -> None:
    ops = "aten::mm 31 8 0 100; aten::add 32 9 0 100"
    assert links("1 0 100 200", launches="1 9 22 25", ops=ops)[0][1] == "aten::add"
    assert links("1 0 100 200", launches="1 7 22 25", ops=ops)[0][1] is None


def test_without_a_launch_and_an_id_nothing_is_proven() -> None:
    ops = "aten::mm 31 9 0 300"
    assert links("1 0 100 200", ops=ops) == [(None, None, None, False)]
    assert links("1 31 100 200", ops=ops) == [(1, "aten::mm", None, False)]


@pytest.mark.parametrize(
    ("at", "op"),
    [
        # From its start up to its end: an op that ends at that instant has ended.
        (0, "aten::linear"), (9, "aten::linear"), (10, "aten::mm"), (19, "aten::mm"),
        (20, "aten::linear"), (29, "aten::linear"), (30, None),
    ],
)  # fmt: skip
def test_the_edges_of_an_op(at: int, op: str | None) -> None:
    ops = "aten::linear 0 9 0 30; aten::mm 0 9 10 20"
    assert links("1 0 100 200", launches=f"1 9 {at} {at}", ops=ops)[0][1] == op


def test_ops_that_begin_together_nest_by_length_and_ops_without_length_hold_nothing() -> None:
    ops = "aten::mm 0 9 10 20; aten::linear 0 9 10 30; aten::detach 0 9 12 12"
    assert links("1 0 100 200", launches="1 9 12 13", ops=ops)[0][1] == "aten::mm"
    assert links("1 0 100 200", launches="1 9 25 26", ops=ops)[0][1] == "aten::linear"


def test_slices_that_overlap_without_nesting_give_no_op_that_had_ended() -> None:
    # The second begins inside the first and ends after it.
    ops = "aten::a 0 9 0 10; aten::b 0 9 5 15"
    assert links("1 0 100 200", launches="1 9 7 8", ops=ops)[0][1] == "aten::b"
    # Which of two such slices a launch belongs to is not proven: none.
    assert links("1 0 100 200", launches="1 9 12 13", ops=ops)[0][1] is None
    assert links("1 0 100 200", launches="1 9 16 17", ops=ops)[0][1] is None


# --- graphs ---------------------------------------------------------------------------------------


def test_a_graphs_replay_has_one_launch_for_all_its_kernels_and_no_op_or_module() -> None:
    found = links(
        "1 31 100 200; 1 0 200 300", launches="1 9 40 45", graph=True,
        ops="aten::mm 31 9 0 60", modules="GPT/Linear 9 0 60",
    )  # fmt: skip
    assert found == [(None, None, None, True)] * 2


def test_a_graph_is_known_by_its_node_or_its_launch() -> None:
    expect(
        "int_gpu_work",
        {
            "int_trace": TRACES,
            "int_trace_device": "trace_no | device | hold_id\n1 | 0 | 4\n",
            "stg_trace_kernel": """
                source_file | event_no | device | correlation | is_graph | name | start_ns | end_ns
                f           | 1        | 0      | 1           | true     | k    | 1        | 2
                f           | 2        | 0      | 2           | false    | k    | 1        | 2
                f           | 3        | 0      | 3           | false    | k    | 1        | 2
                f           | 4        | 0      |             | false    | tf32 | 1        | 2
                f           | 5        | 1      | 1           | true     | k    | 1        | 2
                f           | 6        | 0      | 3           | false    | k    | 1        | 1
            """,
            "stg_trace_launch": """
                source_file | event_no | correlation | name             | start_ns
                f           | 1        | 1           | cudaLaunchKernel | 1
                f           | 2        | 2           | cudaGraphLaunch  | 2
                f           | 3        | 3           | cudaLaunchKernel | 3
                g           | 4        | 3           | cudaGraphLaunch  | 1
            """,
        },
        """
        event_no | is_graph | is_tf32 | hold_id
        1        | true     | false   | 4
        2        | true     | false   | 4
        3        | false    | false   | 4
        4        | false    | true    | 4
        """,
    )


# --- the module -----------------------------------------------------------------------------------

MODULES = "GPT 9 0 90; GPT/Block 9 10 80; GPT/Block/Linear 9 20 40"


@pytest.mark.parametrize(
    ("launch", "module"),
    [
        ("30 31", "GPT/Block/Linear"), ("50 51", "GPT/Block"), ("85 86", "GPT"), ("91 92", None),
    ],
)  # fmt: skip
def test_the_innermost_module_around_the_launch(launch: str, module: str | None) -> None:
    found = links("1 31 100 200", launches=f"1 9 {launch}", ops="aten::mm 31 9 0 99",
                  modules=MODULES)  # fmt: skip
    assert found == [(1, "aten::mm", module, True)]


def test_a_backward_op_has_the_module_of_its_forward_op_by_sequence_number() -> None:
    found = links(
        "1 0 300 400", launches="1 77 210 215", backward="MmBackward0 5 77 200 220",
        forward="aten::mm 5 9 25 30", modules=MODULES,
    )  # fmt: skip
    assert found == [(101, "MmBackward0", "GPT/Block/Linear", True)]


def test_of_forward_ops_with_one_number_the_innermost_begins_last() -> None:
    found = links(
        "1 0 300 400", launches="1 77 210 215", backward="MmBackward0 5 77 200 220",
        forward="aten::linear 5 9 5 60; aten::mm 5 9 25 30", modules=MODULES,
    )  # fmt: skip
    assert found[0][2] == "GPT/Block/Linear"


def test_ops_inside_a_backward_op_have_its_module_too() -> None:
    found = links(
        "1 31 300 400", launches="1 77 210 215", ops="aten::mm 31 77 205 218",
        backward="MmBackward0 5 77 200 220", forward="aten::mm 5 9 25 30", modules=MODULES,
    )  # fmt: skip
    assert found == [(1, "aten::mm", "GPT/Block/Linear", True)]


@pytest.mark.parametrize(
    "change",
    [
        {"forward": "aten::mm 6 9 25 30"},
        {"forward": ""},
        {"forward": "aten::mm 5 9 95 99"},
        {"backward": "MmBackward0 5 76 200 220"},
        {"backward": "MmBackward0 5 77 100 120"},
    ],
)
def test_a_backward_op_without_a_forward_op_in_a_module_has_none(change: dict[str, str]) -> None:
    given: dict[str, str] = {
        "launches": "1 77 210 215", "backward": "MmBackward0 5 77 200 220",
        "forward": "aten::mm 5 9 25 30", "modules": MODULES, **change,
    }  # fmt: skip
    assert links("1 0 300 400", **given)[0][2] is None  # type: ignore[arg-type]


def test_a_launch_inside_a_module_keeps_it_though_a_backward_op_runs_there_too() -> None:
    # Activation checkpointing runs forward modules again inside the backward pass.
    found = links(
        "1 0 300 400", launches="1 77 210 215", backward="CheckpointBackward 5 77 200 220",
        forward="aten::mm 5 9 85 86", modules=f"{MODULES}; GPT/Block/Again 77 205 218",
    )  # fmt: skip
    assert found[0][2] == "GPT/Block/Again"


# --- files ----------------------------------------------------------------------------------------


def test_ids_mean_something_within_one_file_only() -> None:
    other = [
        {"source_file": "g", "event_no": 1, "pid": 9, "tid": 9, "start_ns": 0, "end_ns": 10**6,
         "name": "aten::other", "external_id": 31, "is_backward": False},
    ]  # fmt: skip
    found = links("1 31 100 200", stg_trace_op=other)
    assert found == [(None, None, None, False)]
    launch: list[dict[str, Any]] = [
        {"source_file": "g", "event_no": 1, "pid": 9, "tid": 9, "start_ns": 0, "end_ns": 5,
         "name": "cudaLaunchKernel", "correlation": 1},
    ]  # fmt: skip
    assert links("1 31 100 200", stg_trace_launch=launch) == [(None, None, None, False)]


def test_of_two_calls_with_one_correlation_the_first_is_the_launch() -> None:
    expect(
        "int_launch",
        {
            "int_trace": TRACES,
            "stg_trace_launch": """
                source_file | event_no | correlation | start_ns | name
                f           | 2        | 1           | 20       | cudaLaunchKernel
                f           | 1        | 1           | 30       | cudaLaunchKernel
                g           | 1        | 1           | 10       | cudaLaunchKernel
                f           | 3        |             | 5        | cudaStreamSynchronize
                h           | 4        | 1           | 5        | cudaLaunchKernel
            """,
        },
        "trace_no | correlation | start_ns\n1 | 1 | 20\n2 | 1 | 10\n",
    )


# --- trace_file -----------------------------------------------------------------------------------


def test_a_trace_file_says_how_far_its_work_is_linked() -> None:
    header = {"source_file": "f", "event_count": 99, "gpu_count": 5, "reject_count": 2,
              "is_truncated": True, "copy_count": 3}  # fmt: skip
    trace = {"trace_no": 1, "source_file": "f", "start_ns": "10:00", "end_ns": "10:01",
             "cluster": "c1", "job_id": "7", "attempt": 0, "rank": 1, "found_by": "path",
             "is_clock_ok": True}  # fmt: skip
    expect(
        "trace_file",
        {
            "stg_trace_header": [header, {**header, "source_file": "g", "gpu_count": 0}],
            "int_trace": [
                trace,
                {"trace_no": 2, "source_file": "g", "start_ns": "11:00", "end_ns": "11:01",
                 "found_by": "unmatched"},
            ],
            "int_trace_device": "trace_no | device | hold_id\n1 | 0 | 4\n",
            "int_hold": "hold_id | gpu_uuid\n4 | a\n",
            "int_gpu_work": "trace_no | event_no | is_graph\n"
            "1|1|false\n1|2|false\n1|3|true\n1|4|false\n",
            "int_kernel_op": "trace_no | event_no | has_launch | op_no | module\n"
            "1|1|true|8|GPT\n1|2|true|9|\n1|3|true||\n1|4|false||\n",
            "int_collective_call": "trace_no | event_no | is_matched\n1|1|true\n1|2|false\n",
            "int_trace_fit": "hold_id | traced_step_ns | normal_step_ns | is_unfit_attempt\n"
            "4 | 150 | 100 | true\n",
            "int_trace_step": "window_id | trace_no | hold_id\n1|1|4\n2|1|4\n",
        },
        """
        source_file | found_by  | gpu_uuid | step_count | launch_linked_ratio | op_linked_ratio | module_linked_ratio | graph_count | collective_count | collective_matched_ratio | traced_step_ratio | unfit | reject_count | is_truncated | copy_count
        f           | path      | a        | 2          | 0.75                | 0.5             | 0.25                | 1           | 2                | 0.5                      | 1.5               | true  | 2            | true         | 3
        g           | unmatched |          | 0          |                     |                 |                     | 0           | 0                |                          |                   |       | 2            | true         | 3
        """,  # noqa: E501
    )  # fmt: skip
