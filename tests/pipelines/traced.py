"""What the oracle says of the recorded traces, by job, attempt and rank."""

from __future__ import annotations

from tests.oracle.traces import Trace, WholeJob

#: Job, attempt and rank.
Key = tuple[str, int, int]
Jobs = dict[Key, WholeJob]


def key_of(trace: Trace) -> Key:
    """Whose trace it is."""
    return trace.held.job_id, trace.held.attempt, trace.held.rank
