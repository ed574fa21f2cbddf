"""For which time and nodes an export speaks, and where a bad record makes it blind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.rows import Rows, time_of_ns
from warehouse.contracts import Batch, SourceFile

_S = 1_000_000_000
#: Beyond so many bad records the whole file counts as blind, so that memory stays bounded.
MAX_CUTS = 10_000


@dataclass(frozen=True)
class _Cut:
    line: int
    cluster: str | None
    nodes: tuple[str, ...]
    start_s: int | None
    end_s: int | None


class Coverage:
    """Gathers what the records of one file show and writes `source_coverage` at its end.

    The file speaks for `file.covers`, the time that the export was asked for. Without it only what
    the records themselves prove counts: an export shows whatever ended after its beginning and
    started before its end, so it was asked for at least from the first end to the last start. A job
    that began a month earlier does not make that month known.
    """

    def __init__(self, file: SourceFile, source: str) -> None:
        self._file, self._source = file, source
        self._clusters: dict[str, None] = {}
        self._low: int | None = None
        self._high: int | None = None
        self._proven_from: int | None = None
        self._proven_to: int | None = None
        self._cuts: list[_Cut] = []
        self._blind_from: int | None = None

    def see(
        self, cluster: str, *, start_s: int | None, end_s: int | None,
        other_s: Sequence[int | None] = (), looked_s: int | None = None,
    ) -> None:  # fmt: skip
        """Take note of one good record: its cluster and the times (epoch s) that it shows.

        `looked_s` is when the export was made, where the record tells (a running job's age).
        """
        self._clusters.setdefault(cluster)
        for time in (start_s, end_s, looked_s, *other_s):
            if time is not None:
                self._low = time if self._low is None else min(self._low, time)
                self._high = time if self._high is None else max(self._high, time)
        if end_s is not None:
            self._proven_from = min(end_s, self._proven_from or end_s)
        for time in (start_s, looked_s):
            if time is not None:
                self._proven_to = max(time, self._proven_to or time)

    def cut(
        self, line: int, *, cluster: str | None = None, nodes: Sequence[str] = (),
        start_s: int | None = None, end_s: int | None = None,
    ) -> None:  # fmt: skip
        """Make the file blind for a bad record; no nodes: all; no time: to that end of the span."""
        if self._blind_from is not None:
            return
        if len(self._cuts) >= MAX_CUTS:
            self._blind_from, self._cuts = min(cut.line for cut in self._cuts), []
            return
        self._cuts.append(_Cut(line, cluster, tuple(nodes), start_s, end_s))

    def batches(self) -> Iterator[Batch]:
        """The rows: one per cluster that the file speaks for, and one per cut and node."""
        rows = Rows("source_coverage", self._file)
        span, proven = self._span(), self._proven()
        if proven is not None and proven[1] > proven[0]:
            # Records of other clusters only: the file does not speak for the configured one.
            own = [] if self._file.cluster is None else [self._file.cluster]
            for cluster in list(self._clusters) or own:
                self._add(rows, cluster, None, proven, line=0, is_cut=False)
        cuts = self._cuts
        if self._blind_from is not None:
            cuts = [_Cut(self._blind_from, None, (), None, None)]
        low, high = span or (None, None)
        for cut in cuts:
            start = low if cut.start_s is None else cut.start_s * _S
            end = high if cut.end_s is None else cut.end_s * _S
            if start is not None and end is not None and end > start:
                for node in cut.nodes or (None,):
                    self._add(rows, cut.cluster, node, (start, end), line=cut.line, is_cut=True)
            yield from rows.flush(at_least=10_000)
        yield from rows.flush()

    def _span(self) -> tuple[int, int] | None:
        if self._file.covers is not None:
            return self._file.covers
        if self._low is None or self._high is None:
            return None
        return self._low * _S, self._high * _S

    def _proven(self) -> tuple[int, int] | None:
        if self._file.covers is not None:
            return self._file.covers
        if self._proven_from is None or self._proven_to is None:
            return None
        return self._proven_from * _S, self._proven_to * _S

    def _add(
        self, rows: Rows, cluster: str | None, node: str | None, span: tuple[int, int],
        *, line: int, is_cut: bool,
    ) -> None:  # fmt: skip
        rows.add(
            source=self._source, cluster=cluster, node=node, start=time_of_ns(span[0]),
            end=time_of_ns(span[1]), is_cut=is_cut, source_row=line,
        )  # fmt: skip
