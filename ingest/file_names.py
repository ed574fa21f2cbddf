"""What a file's path says of its records, by the source's option `pattern`.

`pattern` is the end of a path with marks, such as `job_{job_id}/steps_rank{rank}.jsonl`, or a list
of such, of which the first that fits counts. `*` stands for anything within one folder or name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.text import check_options
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

_NUMBER = r"[0-9]{1,18}"
_JOB = {"job_id": r"[^/]+", "attempt": _NUMBER, "rank": _NUMBER}
_PROCESS = {"host": r"[^/]+", "pid": _NUMBER}
_MARK = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Named:
    """What a file's name says about every record in it; None where it says nothing."""

    job_id: str | None = None
    attempt: int | None = None
    rank: int | None = None
    host: str | None = None
    pid: int | None = None


def named(file: SourceFile, *, must_fit: bool = True, of_process: bool = False) -> Named:
    """Read job, attempt and rank out of a file's name by the option `pattern`.

    With `of_process` the pattern may have {host} and {pid} too. Raises ConfigError where a mark is
    unknown, and, if it `must_fit`, where no pattern fits.
    """
    check_options(file, "pattern")
    option = file.options.get("pattern")
    if option is None:
        return Named()
    marks = _JOB | _PROCESS if of_process else _JOB
    for pattern in option if isinstance(option, list) else [option]:
        if not isinstance(pattern, str) or not pattern:
            raise ConfigError(f"{file.source}: pattern is {pattern!r}; expected text")
        if match := re.search(_regex(pattern, marks, file), file.name):
            found = match.groupdict()
            attempt, rank, pid = (
                int(found[name]) if name in found else None for name in ("attempt", "rank", "pid")
            )
            return Named(found.get("job_id"), attempt, rank, found.get("host"), pid)
    if not must_fit:
        return Named()
    raise ConfigError(
        f"{file.source}: pattern {option!r} does not fit the file {file.name}; expected the end "
        f"of its path with marks, such as job_{{job_id}}/steps_rank{{rank}}.jsonl"
    )


def _regex(pattern: str, marks: dict[str, str], file: SourceFile) -> str:
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
    return rf"(?:^|/){''.join(parts)}(?:\.gz)?$"
