"""What the words of a page mean, in the sentences of docs/glossary.md (a test compares them)."""

from __future__ import annotations

#: Classes in the order in which a bar is drawn.
CLASSES = {
    "useful": "The GPU computed; how well is the ladder's matter.",
    "step": "Time inside steps in which the GPU waited: what better code or a better node might "
    "win back.",
    "overhead": "Time and money that work of this kind needs: starting, saving, taxes.",
    "strict": "Waste that the bill and the scheduler prove, at most with one counter: nobody got "
    "anything for it.",
    "policy": "It would be strict, but a dated window in the configuration, with an owner, says "
    "that it is meant.",
    "unknown": "No evidence either way; it is never counted as waste.",
}

GRADES = {
    "E0": "The bill alone.",
    "E1": "The bill and the scheduler, with inventory, node events, step logs and checkpoint "
    "records.",
    "E2": "Those and the GPU's counters.",
    "E3": "Those and traces of some of the job's steps.",
    "E4": "Every step of the job was traced.",
}

#: Rungs of the ladder from what is usually shown to what is worth money: column, name, meaning.
RUNGS = {
    "gpu_util_ratio": ("GPU-Util", "Some kernel was resident at all; never used as work."),
    "engine_active_ratio": ("engine active", "The graphics or compute engine was busy."),
    "sm_active_ratio": ("SM active", "Share of the multiprocessors with work on them."),
    "tensor_active_ratio": ("tensor active", "The tensor cores were issued work."),
    "dram_active_ratio": ("DRAM active", "The memory interface moved data."),
    "mfu_ratio": (
        "MFU",
        "Model FLOPs per second over the dense peak of the number format: model FLOPs utilisation.",
    ),
}

#: Parts of a traced step, in the order in which they are told apart.
STEP_PARTS = {
    "compute": "a kernel runs that is no collective",
    "comm_wait": "only collectives run, before their last participant has begun",
    "comm_exposed": "only collectives run, after that, or not matched",
    "copy_exposed": "only copies and fills run",
    "data_stall": "nothing runs, the step's thread loads data",
    "launch_gap": "nothing runs, the host works or has called for the next work",
    "host_sync": "nothing runs since the host waited for the GPU",
    "pipeline_bubble": "nothing runs, the schedule says that the stage waits",
    "gap_unknown": "nothing runs, and the host shows no reason",
}

#: Parts of compute time: column `part` of compute_split.
COMPUTE_PARTS = {
    "model_flops": "FLOPs that the model needs, at peak",
    "recompute": "further FLOPs that were executed",
    "executed_flops": "FLOPs at peak where the step log does not say what the model needs",
    "memory_ceiling": "what the memory takes beyond that",
    "below_roofline": "beyond what the roofline allows",
    "non_math": "kernels without FLOPs",
    "unsplit": "no shapes, no peak or no trace",
}
