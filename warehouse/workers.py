"""Who does work that may be shared out: this process or, where there is much, one for each core."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

_T = TypeVar("_T")


def workers(
    tasks: int,
    *,
    is_much: bool,
    most: int | None = None,
    prepare: Callable[..., object] = lambda: None,
    given: tuple[Any, ...] = (),
) -> Executor:
    """Someone to submit so many tasks to; an error of one is raised by its result.

    Processes are started only where it `is_much` work, since starting one takes half a second; at
    most `most` of them. Each calls `prepare` with what is `given` first.
    """
    count = min(tasks, cores(), most or tasks)
    if not is_much or count < 2:
        return _Here()
    from concurrent.futures import ProcessPoolExecutor

    # Fresh processes: a forked one would inherit the engine's threads in whatever state they are.
    return ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_start, initargs=(prepare, given)
    )


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Here(Executor):
    """Does at once what is submitted."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Run it; what it raises is raised here."""
        done: Future[_T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def _start(prepare: Callable[..., object], given: tuple[Any, ...]) -> None:
    """Begin a worker: it ends at once, and without a word, when its parent is stopped or dies."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare(*given)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
