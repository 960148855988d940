"""Compiling, with nobody looking for garbage meanwhile.

It makes very many objects that live as long as it takes, and hardly one that only a collector would
find: looking for those again and again takes a seventh of the time.
"""

from __future__ import annotations

import gc

from numba.core import event


class _Collection(event.Listener):
    """Put off from the first of nested compilations to its end. Numba lets one thread compile at a
    time, so nobody counts at once."""

    def __init__(self) -> None:
        self._depth = 0
        self._was_on = False

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


def put_off_collection() -> None:
    event.register("numba:compile", _Collection())  # type: ignore[no-untyped-call]
