"""Public traces of every era and make, held against an independent reading by plain json."""

from __future__ import annotations

import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from tests.ingest.traces.reading import GPU, Tables, check, header, raw, read_path

ARCHIVE = "param__et_replay__tests__inputs__dlrm_kineto.tar.gz"
AMD = "hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz"
CPU_ONLY = "hta__cpu_only__rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"
SIMPLE_ADD = "hta__critical_path__simple_add__benchmark_result_493459_1694039959_trace.json.gz"
LARGE_INTEGER = "hta__large_integer_trace__rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz"
MTIA = "hta__mtia_inference_trace__mtia_inference_rank_0.json.gz"
NCCL = "hta__nccl_parser_config__nccl_data.json.gz"
QUEUE = "hta__negative_queue_length_values_check__rank0.json.gz"
NS = "hta__ns_resolution_trace__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"
NO_RANK = "hta__rank_unavailable__rank_not_found.json.gz"
RANK_0 = "hta__trace_filter__sampled_rank-0.json.gz"
RANK_1 = "hta__trace_filter__sampled_rank-1.json.gz"
TRITON = "hta__triton_example__triton_example.json.gz"
AFTER_FIX = "kineto__docs__traces__after_fix_trace.json"
RESNET = "kineto__resnet50_num_workers_4__worker0.1623212756351.pt.trace.json.gz"
RESNET_2 = "kineto__resnet50_num_workers_4__worker0.1623213129365.pt.trace.json.gz"
B200 = "tracelens__b200__eager_trace.json.gz"
H100 = "tracelens__h100__gaunernst_bert-small-uncased__1016001.json.gz"
VLLM = "tracelens__inference__vllm_decode_full__graph_execution.json.gz"
MI300 = "tracelens__mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
FILES = (
    AMD, CPU_ONLY, SIMPLE_ADD, LARGE_INTEGER, MTIA, NCCL, QUEUE, NS, NO_RANK, RANK_0, RANK_1,
    TRITON, AFTER_FIX, RESNET, RESNET_2, B200, H100, VLLM, MI300,
)  # fmt: skip
#: What each category becomes; of python_function only modules are rows. All else is counted.
KEPT = {
    **dict.fromkeys(GPU, "trace_kernel"),
    **dict.fromkeys(("cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime"), "trace_launch"),
    **dict.fromkeys(("cpu_op", "Operator"), "trace_op"),
    "user_annotation": "trace_annotation",
}
TABLES = ("trace_kernel", "trace_launch", "trace_op", "trace_annotation")


@pytest.fixture(scope="module")
def traces(shared_data: Path) -> Path:
    """The folder of public traces."""
    folder = shared_data / "traces"
    if not folder.is_dir():
        pytest.skip(f"no public traces at {folder}")
    return folder


@pytest.fixture(scope="module")
def ranks(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The only public set of all ranks of a job: DLRM on eight V100."""
    archive = traces / ARCHIVE
    if not archive.exists():
        pytest.skip(f"no {archive}")
    folder = tmp_path_factory.mktemp("dlrm")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and ".json" in p.name)
    assert len(paths) == 8
    return paths


@lru_cache(maxsize=2)
def tables_of(path: Path) -> Tables:
    if not path.exists():
        pytest.skip(f"no {path}")
    return read_path(path)


def check_counts(path: Path, tables: Tables) -> None:
    """Each event is a row, counted or rejected, by category; kernel time per stream is exact."""
    events, _ = raw(path)
    there, kept = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    busy: dict[tuple[int, int], int] = defaultdict(int)
    for event in events:
        category = event.get("cat", "")
        there[event["ph"], category] += 1
        if event["ph"] == "X" and category in GPU:
            args = event.get("args", {})
            place = args.get("device", event["pid"]), args.get("stream", event["tid"])
            busy[place] += int(event["dur"] * 1000)
    numbers = [row["event_no"] for table in TABLES for row in tables[table]]
    assert len(numbers) == len(set(numbers)), "an event is two rows"
    for number in numbers:
        event = events[number - 1]
        kept[event["ph"], event.get("cat", "")] += 1
    modules = sum(e["name"].startswith("nn.Module: ") for e in events if e["ph"] == "X")
    for (phase, category), count in there.items():
        found = kept.pop((phase, category), 0)
        if phase == "X" and category == "python_function":
            assert found == modules
        else:
            assert found == (count if phase == "X" and category in KEPT else 0), category
    assert not kept
    rejects = [row for row in tables["reject"] if row["position"].startswith("event")]
    assert header(tables)["event_count"] == sum(there.values())
    assert not rejects
    ours: dict[tuple[int, int], int] = defaultdict(int)
    for row in tables["trace_kernel"]:
        ours[row["device"], row["stream"]] += row["end_ns"] - row["start_ns"]
    assert ours == busy


@pytest.mark.parametrize("name", FILES)
def test_every_event_is_kept_or_counted_with_its_exact_time(traces: Path, name: str) -> None:
    tables = tables_of(traces / name)
    check(traces / name, tables)
    check_counts(traces / name, tables)
    reasons = [row["reason"] for row in tables["reject"]]
    assert len(reasons) == (name == LARGE_INTEGER)
    assert all(reason.startswith("no baseTimeNanoseconds") for reason in reasons)


def test_no_public_trace_is_forgotten(traces: Path) -> None:
    assert {path.name for path in traces.iterdir()} <= {*FILES, ARCHIVE}


def runs(tables: Tables) -> Iterator[tuple[int, int]]:
    """The union of the GPU's intervals per device."""
    by_device: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in tables["trace_kernel"]:
        by_device[row["device"]].append((row["start_ns"], row["end_ns"]))
    for spans in by_device.values():
        spans.sort()
        start, end = spans[0]
        for next_start, next_end in spans[1:]:
            if next_start > end:
                yield start, end
                start, end = next_start, next_end
            end = max(end, next_end)
        yield start, end


def overlaps(tables: Tables) -> int:
    """Activities that begin while an earlier one of their stream still runs."""
    ends: dict[tuple[int, int], int] = {}
    count = 0
    for row in sorted(tables["trace_kernel"], key=lambda r: (r["start_ns"], r["event_no"])):
        place = row["device"], row["stream"]
        count += row["start_ns"] < ends.get(place, 0)
        ends[place] = max(ends.get(place, 0), row["end_ns"])
    return count


def test_b200_kernels_overlap_on_one_stream(traces: Path) -> None:
    """Programmatic dependent launch: their sum is more than the GPU was busy."""
    tables = tables_of(traces / B200)
    assert overlaps(tables) == 74
    busy = sum(end - start for start, end in runs(tables))
    assert busy < sum(row["end_ns"] - row["start_ns"] for row in tables["trace_kernel"])


def test_dlrm_has_all_eight_ranks_on_one_step(ranks: list[Path]) -> None:
    steps, found, sizes = [], [], set()
    for path in ranks:
        tables = read_path(path)
        check(path, tables)
        check_counts(path, tables)
        assert not tables["reject"]
        row = header(tables)
        found.append(row["meta_rank"])
        sizes.add(row["world_size"])
        steps += [r for r in tables["trace_annotation"] if r["kind"] == "step"]
    assert sorted(found) == list(range(8))
    assert sizes == {8}
    assert [step["step_no"] for step in steps] == [10] * 8
    # One step of all: there is a time at which every rank is in it.
    assert max(step["start_ns"] for step in steps) < min(step["end_ns"] for step in steps)


def test_epoch_times_with_nanoseconds_are_exact(traces: Path) -> None:
    tables = tables_of(traces / NS)
    row = header(tables)
    assert row["base_ns"] == 0
    assert str(row["start_ns"]).startswith("17121954954067527")
    # A float of epoch microseconds has steps of 0.25: its nanoseconds would end in few ways.
    assert len({r["start_ns"] % 250 for r in tables["trace_kernel"]}) == 250
    assert row["meta_job_id"].startswith("torchx-pytorch_resnet")
    assert (row["meta_attempt"], row["meta_rank"]) == (0, 0)
    assert row["host_name"] == "twshared39868.02.pnb3.facebook.com"


def test_a_base_behind_the_events_counts(traces: Path) -> None:
    tables = tables_of(traces / NCCL)
    row = header(tables)
    assert row["base_ns"] == 1_711_964_646_000_000_000
    assert row["base_ns"] < row["start_ns"] < row["base_ns"] + 7_889_238 * 10**9
    comm = [r for r in tables["trace_kernel"] if r["kind"] == "comm"]
    assert len(comm) == 21
    assert {(r["collective"], r["group_size"]) for r in comm} == {
        ("allreduce", 2), ("broadcast", 2),
    }  # fmt: skip


def test_device_ids_of_rocm_are_agents_not_places_in_a_list(traces: Path) -> None:
    tables = tables_of(traces / MI300)
    assert {r["device"] for r in tables["trace_kernel"]} == {2}
    assert header(tables)["device_count"] == 1
    assert header(tables)["device_name"].startswith("AMD Instinct MI300X")
    # Whether ROCm counts a grid in blocks or in threads is not known.
    assert {r["blocks"] for r in tables["trace_kernel"]} == {None}


def test_a_rank_without_a_gpu_has_no_gpu_time(traces: Path) -> None:
    tables = tables_of(traces / CPU_ONLY)
    row = header(tables)
    assert row["gpu_count"] == 0
    assert not tables["trace_kernel"]
    assert (row["meta_rank"], row["world_size"], row["backend"]) == (34, 300, "gloo")


def test_categories_of_2021(traces: Path) -> None:
    tables = tables_of(traces / RESNET)
    row = header(tables)
    assert Counter(r["activity"] for r in tables["trace_kernel"]) == {
        "kernel": 8868, "memset": 378, "memcpy": 12,
    }  # fmt: skip
    assert len(tables["trace_launch"]) == 12_085
    assert row["step_count"] == len([r for r in tables["trace_annotation"] if r["kind"] == "step"])
    assert row["step_count"] > 0
    # `external id` in small letters, threads as text.
    assert all(r["external_id"] is not None for r in tables["trace_kernel"])
    assert all(r["tid"] >= 0 for r in tables["trace_op"])


def test_other_accelerators_are_counted_and_give_no_gpu_time(traces: Path) -> None:
    tables = tables_of(traces / MTIA)
    assert not tables["trace_kernel"]
    row = header(tables)
    assert (row["gpu_count"], row["event_count"]) == (0, 16_158)
    assert row["host_name"] == "twshared38393.01.cco6.facebook.com"
    assert len(tables["trace_launch"]) == 823


def test_a_replayed_graph_has_one_launch(traces: Path) -> None:
    tables = tables_of(traces / VLLM)
    kernels = [r for r in tables["trace_kernel"] if r["activity"] == "kernel"]
    (graph, count), *_ = Counter(r["correlation"] for r in kernels).most_common()
    assert count > 400
    launches = [r["name"] for r in tables["trace_launch"] if r["correlation"] == graph]
    assert launches == ["hipGraphLaunch"]


def test_triton_kernels_and_driver_launches(traces: Path) -> None:
    tables = tables_of(traces / TRITON)
    (kernel,) = tables["trace_kernel"]
    (launch,) = [r for r in tables["trace_launch"] if r["correlation"] == kernel["correlation"]]
    assert launch["name"] == "cuLaunchKernel"
    assert kernel["kind"] == "compute"


def test_nested_arguments_and_sync_rows_of_2026(traces: Path) -> None:
    tables = tables_of(traces / AFTER_FIX)
    (kernel,) = tables["trace_kernel"]
    assert (kernel["occupancy_percent"] is None, kernel["threads"] is None) == (False, False)
    events, _ = raw(traces / AFTER_FIX)
    syncs = [e for e in events if e.get("cat") == "cuda_sync"]
    assert len(syncs) == 2
    # One of them says a device and a stream, as work does: it is none.
    assert any("stream" in e["args"] for e in syncs)
    assert kernel["graph_node_id"] is None


def test_waits_between_streams_are_no_work(traces: Path) -> None:
    tables = tables_of(traces / SIMPLE_ADD)
    events, _ = raw(traces / SIMPLE_ADD)
    assert sum(e.get("cat") == "cuda_sync" for e in events) == 41
    assert len(tables["trace_kernel"]) == 79 + 16 + 3


def test_ranks_of_one_job_keep_their_rank(traces: Path) -> None:
    rows = [header(tables_of(traces / name)) for name in (RANK_0, RANK_1)]
    assert [(row["meta_rank"], row["world_size"]) for row in rows] == [(0, 128), (1, 128)]


def test_a_rank_that_is_nowhere_is_null(traces: Path) -> None:
    row = header(tables_of(traces / NO_RANK))
    assert (row["meta_rank"], row["path_rank"], row["backend"]) == (None, None, "nccl")


def test_a_number_of_64_bits_without_sign_is_kept_whole(traces: Path) -> None:
    (row,) = tables_of(traces / LARGE_INTEGER)["trace_op"]
    assert row["comms_id"] == "10159970886766084423"
