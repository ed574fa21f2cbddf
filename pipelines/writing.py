"""One run writes at a time: the next one says whom it waits for, and waits for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pipelines.observer import Progress
from warehouse.errors import StoreBusy
from warehouse.store import Store, Transaction

#: A run waits so long for another one where nobody says otherwise.
WAIT_S = 600.0
_POLL_S = 1.0


@contextmanager
def writing(
    store: Store,
    *,
    wait_s: float,
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Transaction]:
    """The store's transaction, as soon as no other process holds it.

    Says through `progress` that it waits. Raises StoreBusy, which names the holder, where the
    store is still held after `wait_s` seconds.
    """
    deadline = clock() + wait_s
    waits = False
    with ExitStack() as stack:
        while True:
            try:
                transaction = stack.enter_context(store.transaction())
                break
            except StoreBusy as busy:
                if clock() >= deadline:
                    raise
                if not waits:
                    progress(f"waiting, up to {wait_s:g} s: {str(busy).split(';')[0]}")
                    waits = True
                sleep(_POLL_S)
        yield transaction
