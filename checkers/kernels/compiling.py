"""What compiling needs besides the compiler: no collector meanwhile, and no code of old sources."""

from __future__ import annotations

import gc
from pathlib import Path

from numba.core import event


class _Collection(event.Listener):
    """Put off from the first of nested compilations to its end. Compiling makes very many objects
    that live as long as it takes, and hardly one that only a collector would find: looking for
    those again and again takes a seventh of the time. Numba lets one thread compile at a time, so
    nobody counts at once."""

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


def forget_old_code(sources: Path) -> None:
    """Code is kept by the file of its kernel, and is also made of kernels in other files that it
    calls. So all that was kept before the last change of any source is forgotten."""
    changed = max(source.stat().st_mtime_ns for source in sources.glob("*.py"))
    for kept in (sources / "__pycache__").glob("*.nb[ic]"):
        try:
            if kept.stat().st_mtime_ns < changed:
                kept.unlink()
        except FileNotFoundError:
            # Another process saw it first.
            continue
