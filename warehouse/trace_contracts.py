"""The landing tables of traces and of collectives: trace scale, epoch nanoseconds, per file.

A process's ids (correlation, External id, sequence number) mean something within one file only:
every join of these tables goes by `source_file` too.
"""

from __future__ import annotations

from warehouse.contract import BOOL, FILE, LONG, ROW, TEXT, Contract, optional, required

_EVENT = required("event_no", LONG, "", "number of the event in the file, from 1")
_START = required("start_ns", LONG, "ns", "start, epoch")
_END = required("end_ns", LONG, "ns", "end, epoch, exclusive")
_PID = required("pid", LONG, "", "process that the row belongs to")
# Unsigned, of 64 bits: as a BIGINT half of them would not fit.
_COMMS = optional("comms_id", TEXT, "", "number of the communicator, where given")
_TID = required("tid", LONG, "", "thread of the process")

TRACE_HEADER = Contract(
    "trace_header",
    1,
    "one row per trace file: what it says of itself and what was read of it",
    ("source_file",),
    ("start_ns", "source_file"),
    (
        FILE,
        required("format", TEXT, "", "kineto or nsys"),
        required("start_ns", LONG, "ns", "start of the earliest event with a length, epoch"),
        required("end_ns", LONG, "ns", "end of the latest event with a length, epoch"),
        required(
            "base_ns",
            LONG,
            "ns",
            "epoch time that the file counts from and that was added to each time, or 0",
        ),
        optional("cluster", TEXT, "", "cluster of the source's configuration"),
        optional("trace_id", TEXT, "", "trace_id of the profiler"),
        optional("meta_job_id", TEXT, "", "job that the file's metadata name"),
        optional("meta_attempt", LONG, "", "attempt that the file's metadata name"),
        optional("meta_rank", LONG, "", "rank that the file's metadata name"),
        optional("path_job_id", TEXT, "", "job that the file's path names, by the pattern"),
        optional("path_attempt", LONG, "", "attempt that the file's path names"),
        optional("path_rank", LONG, "", "rank that the file's path names"),
        optional("host_name", TEXT, "", "host by metadata, else by the file's name"),
        optional("pid", LONG, "", "process by the file's name, else of its CPU rows"),
        optional("world_size", LONG, "ranks", "world_size of distributedInfo"),
        optional("backend", TEXT, "", "backend of distributedInfo"),
        optional("device_name", TEXT, "", "name of the first device in deviceProperties"),
        optional("device_count", LONG, "GPUs", "devices that the process sees"),
        optional("cuda_runtime", LONG, "", "cuda_runtime_version"),
        optional("cuda_driver", LONG, "", "cuda_driver_version"),
        required("has_stack", BOOL, "", "python frames were recorded"),
        required("has_shapes", BOOL, "", "shapes of the ops' inputs were recorded"),
        required(
            "event_count", LONG, "events", "all events of the file, those not kept among them"
        ),
        required("gpu_count", LONG, "events", "rows in trace_kernel"),
        required("op_count", LONG, "events", "rows in trace_op"),
        required("step_count", LONG, "steps", "steps of the profiler"),
        required("reject_count", LONG, "events", "events that could not be read"),
        required(
            "is_truncated",
            BOOL,
            "",
            "the file ends inside its events, or says that some are missing",
        ),
    ),
    time="start_ns",
)

TRACE_KERNEL = Contract(
    "trace_kernel",
    2,
    "one row per activity of a GPU in a trace: kernel, copy or fill",
    ("source_file", "event_no"),
    ("source_file", "event_no"),
    (
        FILE,
        _EVENT,
        required("device", LONG, "", "device as the process counts"),
        required("stream", LONG, "", "stream"),
        _START,
        _END,
        required("activity", TEXT, "", "kernel, memcpy or memset"),
        required("kind", TEXT, "", "compute, comm or copy: what the time counts as"),
        required("name", TEXT, "", "name as the profiler writes it"),
        required("family", TEXT, "", "name without template, tile and hash suffixes"),
        optional("correlation", LONG, "", "ties to the launch, within the file"),
        optional("external_id", LONG, "", "ties to the op, within the file"),
        optional("graph_node_id", LONG, "", "node of a CUDA or HIP graph; null outside graphs"),
        optional("bytes", LONG, "B", "bytes that a copy moves or a fill writes"),
        optional("blocks", LONG, "blocks", "blocks of the grid"),
        optional("threads", LONG, "threads", "threads of a block"),
        optional("occupancy_percent", LONG, "%", "est. achieved occupancy"),
        optional("collective", TEXT, "", "collective's name in small letters: allreduce, ..."),
        optional("group_name", TEXT, "", "process group"),
        optional("group_ranks", TEXT, "", "its ranks as the profiler writes them: [0, 1]"),
        optional("group_size", LONG, "ranks", "ranks in the group"),
        optional("seq", LONG, "", "number of the collective in its group, where given"),
        optional("in_elements", LONG, "elements", "elements that go in"),
        optional("out_elements", LONG, "elements", "elements that come out"),
        optional("dtype", TEXT, "", "number format of the collective"),
        _COMMS,
    ),
    time="start_ns",
)

TRACE_LAUNCH = Contract(
    "trace_launch",
    1,
    "one row per call of the host into the GPU's runtime or driver",
    ("source_file", "event_no"),
    ("source_file", "event_no"),
    (
        FILE,
        _EVENT,
        _PID,
        _TID,
        _START,
        _END,
        required("name", TEXT, "", "function: cudaLaunchKernel, cudaStreamSynchronize, ..."),
        optional("correlation", LONG, "", "ties to GPU work, within the file"),
        optional("external_id", LONG, "", "op that was running, within the file"),
    ),
    time="start_ns",
)

TRACE_OP = Contract(
    "trace_op",
    2,
    "one row per framework op on the CPU",
    ("source_file", "event_no"),
    ("source_file", "event_no"),
    (
        FILE,
        _EVENT,
        _PID,
        _TID,
        _START,
        _END,
        required("name", TEXT, "", "op: aten::mm, triton_poi_fused_..., record_param_comms"),
        optional("external_id", LONG, "", "number of the op in the file"),
        optional("sequence_number", LONG, "", "ties a backward op to its forward op"),
        optional("fwd_thread_id", LONG, "", "thread of the forward op; above 0 on backward ops"),
        optional("input_dims", TEXT, "", "shapes of the inputs, as JSON"),
        optional("input_types", TEXT, "", "number formats of the inputs, as JSON"),
        optional("flops", LONG, "FLOP", "FLOPs by shapes; 0 where it does none, null: not known"),
        optional("bytes", LONG, "B", "least bytes that it must move, by shapes; null: not known"),
        optional("math_dtype", TEXT, "", "number format that its FLOPs are done in"),
        _COMMS,
    ),
    time="start_ns",
)

TRACE_ANNOTATION = Contract(
    "trace_annotation",
    1,
    "one row per named stretch of a host thread: profiler step, user annotation, module or, where "
    "they are kept, Python frame",
    ("source_file", "event_no"),
    ("source_file", "event_no"),
    (
        FILE,
        _EVENT,
        _PID,
        _TID,
        _START,
        _END,
        required("kind", TEXT, "", "step, user, module or python"),
        required("name", TEXT, "", "ProfilerStep#5, load_batch; of a module Linear_3"),
        optional("step_no", LONG, "", "number of the profiler's step: never the job's own"),
        optional("module_path", TEXT, "", "classes from the outermost module in: GPT/Block/Linear"),
    ),
    time="start_ns",
)

TRACE_FLOW = Contract(
    "trace_flow",
    1,
    "one row per end of a flow, which ties two places of a trace; only where they are kept",
    ("source_file", "event_no"),
    ("source_file", "event_no"),
    (
        FILE,
        _EVENT,
        required("pid", LONG, "", "process, or device as the process counts"),
        required("tid", LONG, "", "thread of the process, or stream of the device"),
        required("at_ns", LONG, "ns", "when, epoch"),
        required("flow_id", LONG, "", "the same for the ends of a flow, within file and category"),
        required("end", TEXT, "", "start, step or finish"),
        required("category", TEXT, "", "ac2g (launch to work of the GPU), fwdbwd, ..."),
        required("name", TEXT, "", "name as the profiler writes it"),
    ),
    time="at_ns",
)

TRACE_MEMORY = Contract(
    "trace_memory",
    1,
    "one row per change of memory that the profiler saw; only where they are kept",
    ("source_file", "event_no"),
    ("source_file", "event_no"),
    (
        FILE,
        _EVENT,
        _PID,
        _TID,
        required("at_ns", LONG, "ns", "when, epoch"),
        required("changed_bytes", LONG, "B", "bytes that were allocated; freed ones are negative"),
        optional("allocated_bytes", LONG, "B", "bytes of the allocator in use after it"),
        optional("reserved_bytes", LONG, "B", "bytes that the allocator holds after it"),
        optional("device_type", LONG, "", "PyTorch's number of a kind: 0 CPU, 1 CUDA, 6 HIP"),
        optional("device", LONG, "", "device as the process counts; -1 for the CPU"),
        optional("address", TEXT, "", "address, unsigned"),
    ),
    time="at_ns",
)

COLLECTIVE = Contract(
    "collective",
    1,
    "one row per collective that a rank's own recorder kept",
    ("source_file", "source_row"),
    ("source_file", "source_row"),
    (
        FILE,
        ROW,
        required("recorder", TEXT, "", "flight_recorder"),
        optional("cluster", TEXT, "", "cluster of the source's configuration"),
        optional("job_id", TEXT, "", "job by the file's path"),
        optional("attempt", LONG, "", "attempt by the file's path; null: found by time"),
        optional("rank", LONG, "", "rank by the file's path"),
        optional("group_name", TEXT, "", "process group"),
        optional("group_ranks", TEXT, "", "its ranks as the recorder writes them: [0, 1]"),
        optional("seq", LONG, "", "number of the collective in its group"),
        required("is_p2p", BOOL, "", "point to point: send or receive"),
        required("name", TEXT, "", "collective's name in small letters: allreduce, ..."),
        optional("in_elements", LONG, "elements", "elements that go in"),
        optional("out_elements", LONG, "elements", "elements that come out"),
        optional("dtype", TEXT, "", "number format as the recorder writes it"),
        required("created_ns", LONG, "ns", "when the host enqueued it, epoch"),
        optional("seen_started_ns", LONG, "ns", "when a watchdog saw it started, epoch"),
        optional("seen_completed_ns", LONG, "ns", "when a watchdog saw it done, epoch"),
        required("state", TEXT, "", "scheduled, started or completed"),
        optional("timeout_ns", LONG, "ns", "after which the recorder calls it hung"),
    ),
    time="created_ns",
)

TRACE_TABLES: tuple[Contract, ...] = (
    TRACE_HEADER, TRACE_KERNEL, TRACE_LAUNCH, TRACE_OP, TRACE_ANNOTATION, TRACE_FLOW, TRACE_MEMORY,
    COLLECTIVE,
)  # fmt: skip
