"""Colours by meaning, for light and dark, told apart also by colour-blind readers.

After the palette of Okabe and Ito; neighbours in a bar differ in lightness too. Charts are drawn
with stand-ins that become CSS variables, so that one drawing serves both schemes.
"""

from __future__ import annotations

import re

#: Name: (light, dark).
COLOURS: dict[str, tuple[str, str]] = {
    # classes
    "useful": ("#00795c", "#2fc49a"),
    "step": ("#e69f00", "#f0b429"),
    "overhead": ("#7fbfe8", "#4f93c4"),
    "strict": ("#c4470a", "#ff7a3d"),
    "policy": ("#b0659a", "#d98cc4"),
    "unknown": ("#9a9a9a", "#8f8f8f"),
    # parts of a step
    "compute": ("#0063a0", "#4aa8e8"),
    "comm_wait": ("#c4470a", "#ff7a3d"),
    "comm_exposed": ("#e69f00", "#f0b429"),
    "copy_exposed": ("#ded23a", "#f2e85c"),
    "data_stall": ("#b0659a", "#d98cc4"),
    "launch_gap": ("#7fbfe8", "#8fd0f5"),
    "host_sync": ("#00795c", "#2fc49a"),
    "pipeline_bubble": ("#3a3a3a", "#e4e4e4"),
    "gap_unknown": ("#a6a6a6", "#7d7d7d"),
    # rungs
    "gpu_util_ratio": ("#3a3a3a", "#e4e4e4"),
    "engine_active_ratio": ("#7a7a7a", "#a8a8a8"),
    "sm_active_ratio": ("#0063a0", "#4aa8e8"),
    "tensor_active_ratio": ("#b0659a", "#d98cc4"),
    "dram_active_ratio": ("#c98b00", "#f0b429"),
    "mfu_ratio": ("#00795c", "#2fc49a"),
    # parts of compute
    "model_flops": ("#00795c", "#2fc49a"),
    "recompute": ("#b0659a", "#d98cc4"),
    "executed_flops": ("#0063a0", "#4aa8e8"),
    "memory_ceiling": ("#e69f00", "#f0b429"),
    "below_roofline": ("#c4470a", "#ff7a3d"),
    "non_math": ("#7fbfe8", "#8fd0f5"),
    "unsplit": ("#a6a6a6", "#7d7d7d"),
    # others
    "bill": ("#4d4d4d", "#c9c9c9"),
    "direct": ("#0063a0", "#4aa8e8"),
    "carried": ("#a9cbe3", "#2c5674"),
    "range": ("#bdbdbd", "#5c5c5c"),
}

_NAMES = list(COLOURS)
_STAND_IN = re.compile(r'"#0b01([0-9a-f]{2})"')


def stand_in(name: str) -> str:
    """The colour that charts are drawn with, which `variables` turns into the real one."""
    return f"#0b01{_NAMES.index(name):02x}"


def variables(svg: str) -> str:
    """The drawing with CSS variables in the place of the stand-ins."""
    return _STAND_IN.sub(lambda found: f'"var(--c-{_NAMES[int(found[1], 16)]})"', svg)


def style() -> str:
    """The CSS that defines the variables, for both schemes."""
    light, dark = (
        "".join(f"--c-{name}:{pair[which]};" for name, pair in COLOURS.items()) for which in (0, 1)
    )
    keys = "".join(f".k-{name}{{--k:var(--c-{name})}}" for name in COLOURS)
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{keys}"
