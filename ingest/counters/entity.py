"""Which GPU a labelled series is about. Labels of pods and jobs are claims, and make no other GPU.

A device's value is copied to each pod that shares it and, where it counts for the whole GPU, to
each MIG slice: all of them are one reading of one GPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

#: Labels that name the GPU, in any case; of MIG slices they name the parent.
_UUID = ("uuid", "gpu_uuid", "exported_uuid")
_SLICE = ("gpu_i_id", "exported_gpu_i_id")
#: What device plugins append where a GPU is shared in time: GPU-...::2, GPU-.../vgpu1.
_SHARED = re.compile(r"(?:::[0-9]+|/vgpu[0-9]+)\Z")
_UUID_FORM = re.compile(r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


class Entity(NamedTuple):
    """A GPU, or one of its MIG slices (the number of its GPU instance)."""

    gpu_uuid: str
    slice_id: str | None = None


def entity(labels: Mapping[str, str]) -> Entity | str:
    """The GPU that a series is about, or why there is none."""
    low = {name.lower(): value.strip() for name, value in labels.items()}
    uuid = next((low[name] for name in _UUID if low.get(name)), "")
    if not uuid:
        return f"no label UUID; its labels are {', '.join(sorted(labels)) or 'none'}"
    uuid = _SHARED.sub("", uuid)
    if not _UUID_FORM.match(uuid):
        return f"UUID is {uuid!r}; expected GPU- and a UUID"
    return Entity(uuid, next((low[name] for name in _SLICE if low.get(name)), None))
