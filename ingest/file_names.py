"""What a file's path says of its records, by the source's option `pattern`.

`pattern` is the end of a path with marks, such as `job_{job_id}/steps_rank{rank}.jsonl`, or a list
of such, of which the first that fits counts. `*` stands for anything within one folder or name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

_NUMBER = r"[0-9]{1,18}"
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
#: The marks that kinds of sources know, and what each stands for.
OF_JOB = {"job_id": r"[^/]+", "attempt": _NUMBER, "rank": _NUMBER}
OF_PROCESS = {**OF_JOB, "host": r"[^/]+", "pid": _NUMBER}
OF_GPU = {"node": r"[^/]+", "gpu_uuid": f"GPU-{_UUID}", "slice_id": f"MIG-{_UUID}"}
_MARK = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Named:
    """What a file's name says about every record in it; None where it says nothing."""

    job_id: str | None = None
    attempt: int | None = None
    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    node: str | None = None
    gpu_uuid: str | None = None
    slice_id: str | None = None


#: Marks that stand for a number.
_COUNTS = {"attempt", "rank", "pid"}


@dataclass(frozen=True)
class PathPattern:
    """The option `pattern` of a source, ready to be laid against the names of its files."""

    source: str
    given: object
    patterns: tuple[re.Pattern[str], ...]

    def read(self, name: str, *, must_fit: bool = True) -> Named:
        """What the name says; ConfigError where no pattern fits though one must."""
        for pattern in self.patterns:
            if match := pattern.search(name):
                said: dict[str, Any] = {
                    k: int(v) if k in _COUNTS else v for k, v in match.groupdict().items()
                }
                return Named(**said)
        if not must_fit or not self.patterns:
            return Named()
        raise ConfigError(
            f"{self.source}: pattern {self.given!r} does not fit the file {name}; expected the end "
            "of its path with marks, such as job_{job_id}/steps_rank{rank}.jsonl"
        )


def path_pattern(file: SourceFile, marks: Mapping[str, str]) -> PathPattern:
    """The option `pattern`; ConfigError where it is no text, or has a mark that is not known."""
    given = file.options.get("pattern")
    texts = [] if given is None else given if isinstance(given, list) else [given]
    return PathPattern(file.source, given, tuple(_compiled(text, marks, file) for text in texts))


def _compiled(pattern: object, marks: Mapping[str, str], file: SourceFile) -> re.Pattern[str]:
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(f"{file.source}: pattern is {pattern!r}; expected text")
    texts = _MARK.split(pattern)
    for mark in texts[1::2]:
        if mark not in marks or texts[1::2].count(mark) > 1:
            raise ConfigError(
                f"{file.source}: pattern {pattern!r} has the mark {{{mark}}}; expected "
                f"{', '.join(f'{{{name}}}' for name in marks)}, each at most once"
            )
    parts = [
        f"(?P<{text}>{marks[text]})" if at % 2 else re.escape(text).replace(r"\*", "[^/]*")
        for at, text in enumerate(texts)
    ]
    return re.compile(rf"(?:^|/){''.join(parts)}(?:\.gz)?$")
