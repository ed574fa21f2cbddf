"""Who makes the files of a report: this process, or, where there are many, one for each core."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from reports.charts import adopt, compiled

#: From so many pages on, starting processes costs less than it saves.
MANY = 12

_T = TypeVar("_T")


def workers(pages: int) -> Executor:
    """Someone to submit the making of so many pages to."""
    cores = _cores()
    if pages < MANY or cores < 2:
        return _Here()
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Fresh processes: a forked one would inherit the engine's threads in whatever state they are.
    return ProcessPoolExecutor(
        cores, mp_context=get_context("spawn"), initializer=adopt, initargs=(compiled(),)
    )


class _Here(Executor):
    """Does at once what is submitted."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Run it; what it raises is raised here."""
        done: Future[_T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
