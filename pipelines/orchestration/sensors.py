"""What has arrived: bills and trace bundles, known by the names, sizes and times of their files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from ingest.registry import KINDS
from pipelines.config import Config
from pipelines.orchestration import jobs
from pipelines.orchestration.deployment import Deployment
from warehouse.errors import PlumblineError

_EVERY_S = 300
#: New files that a run's tag names.
_MOST_NAMES = 3


@dataclass(frozen=True)
class Cursor:
    """What a sensor knows: the files as seen last, and as they were when it asked for a run.

    `newest_ns` is the latest modification time of those files, epoch ns.
    """

    seen: str = ""
    asked: str = ""
    newest_ns: int = 0

    @classmethod
    def of(cls, text: str | None) -> Cursor:
        """Read one; what cannot be read is a sensor that has seen nothing."""
        try:
            return cls(**json.loads(text or "{}"))
        except (ValueError, TypeError):
            return cls()

    @property
    def text(self) -> str:
        """As the scheduler keeps it."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Files:
    """The files of some sources now: name, bytes, modification time (epoch ns)."""

    files: tuple[tuple[str, int, int], ...]

    @property
    def digest(self) -> str:
        """Changes whenever a file comes, goes, grows or is written again."""
        return hashlib.sha256(json.dumps(self.files).encode()).hexdigest()[:32]

    @property
    def newest_ns(self) -> int:
        """The latest modification time."""
        return max((time for _, _, time in self.files), default=0)

    def since(self, time_ns: int) -> list[str]:
        """Names of the files that were written after a time."""
        return [name for name, _, time in self.files if time > time_ns]


def files_of(config: Config, room: str) -> Files:
    """The files of the sources whose readers are in a room of ingest, such as `bills`."""
    found = []
    for source in config.sources:
        if not KINDS[source.kind].module.startswith(f"ingest.{room}."):
            continue
        for file in config.files(source):
            try:
                stat = Path(file.path).stat()
            except FileNotFoundError:
                continue  # gone between the look at its folder and the look at it
            found.append((f"{source.name}: {file.name}", stat.st_size, stat.st_mtime_ns))
    return Files(tuple(sorted(found)))


def step(cursor: Cursor, files: Files) -> tuple[Cursor, list[str] | None]:
    """The next cursor, and the names of new files where a run is to be asked for, else None.

    A run is asked for when two looks in a row find the same files, so that none of them is still
    being written.
    """
    digest = files.digest
    if digest == cursor.asked or (not files.files and not cursor.asked):
        return Cursor(digest, cursor.asked, cursor.newest_ns), None
    if digest != cursor.seen:
        return Cursor(digest, cursor.asked, cursor.newest_ns), None
    return Cursor(digest, digest, files.newest_ns), files.since(cursor.newest_ns)


def arrivals(
    job: dg.UnresolvedAssetJobDefinition, *, name: str, room: str, what: str
) -> dg.SensorDefinition:
    """A sensor over the files of one room of ingest."""

    @dg.sensor(
        name=name, job=job, minimum_interval_seconds=_EVERY_S,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"Runs when {what} have arrived, changed or gone and two looks in a row find "
        "them the same: every month that they touch is built.",
    )  # fmt: skip
    def sensor(
        context: dg.SensorEvaluationContext, deployment: Deployment
    ) -> dg.SensorResult | dg.SkipReason:
        try:
            files = files_of(deployment.load(), room)
        except PlumblineError as error:
            return dg.SkipReason(str(error))
        cursor, new = step(Cursor.of(context.cursor), files)
        if new is None:
            waits = cursor.seen != cursor.asked and bool(files.files)
            reason = "they may still be written" if waits else "nothing new"
            return dg.SensorResult(
                skip_reason=f"{len(files.files)} files of {what}: {reason}", cursor=cursor.text
            )
        named = ", ".join(new[:_MOST_NAMES]) or "files that are gone"
        more = f" and {len(new) - _MOST_NAMES} more" if len(new) > _MOST_NAMES else ""
        request = jobs.request(
            datetime.now(UTC).date().replace(day=1), run_key=f"{name}-{cursor.asked}",
            touched=True, tags={"plumbline/arrived": f"{named}{more}"[:250]},
        )  # fmt: skip
        return dg.SensorResult(run_requests=[request], cursor=cursor.text)

    return sensor
