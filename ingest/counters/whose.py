"""Which field of which GPU a series is; what is not known is told once and kept aside."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.counters.entity import entity
from ingest.counters.fields import BY_NAME, FIELDS, LEFT
from ingest.counters.wide import Wide

#: The code of no GPU.
NOBODY = -1


class Whose:
    """The series of one file."""

    def __init__(self, wide: Wide) -> None:
        self._wide = wide
        self._told: set[str] = set()

    def find(self, labels: Mapping[str, str]) -> tuple[int, int, str]:
        """DCGM id of a series' field, code of its GPU or NOBODY, and why ('' if told before)."""
        dcgm_id, code, fault = self._find(labels)
        if fault in self._told:
            fault = ""
        self._told.add(fault)
        return dcgm_id, code, fault

    def _find(self, labels: Mapping[str, str]) -> tuple[int, int, str]:
        name = labels.get("__name__", "")
        dcgm_id = BY_NAME.get(name.lower())
        if dcgm_id is None:
            # Other exporters' series, and fields that are known and not landed, are nobody's fault.
            is_odd = name.lower().startswith("dcgm_") and name.lower() not in LEFT
            fault = f"the field {name!r} is not known; nothing of it is landed" if is_odd else ""
            return 0, NOBODY, fault
        found = entity(labels)
        if isinstance(found, str):
            return dcgm_id, NOBODY, f"{name}: {found}"
        if found.slice_id is not None and FIELDS[dcgm_id].entity != "GPU":
            whose = f"the MIG slice {found.slice_id} of {found.gpu_uuid}"
            return dcgm_id, NOBODY, f"{name} is of {whose}; slices are not divided yet"
        return dcgm_id, self._wide.code(found.gpu_uuid), ""
