"""Tests of what waits: in a loop whose time jumps, so that an hour passes at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

from harness.sim.disposal import dispose
from harness.sim.loop import SimLoop

_DEADLINE_S = 100_000.0

Params = ParamSpec("Params")


def in_virtual_time(test: Callable[Params, Coroutine[Any, Any, None]]) -> Callable[Params, None]:
    """Nothing that was started may fail unseen. What still waits at the end is put away."""

    @wraps(test)
    def run(*args: Params.args, **kwargs: Params.kwargs) -> None:
        loop = SimLoop()
        try:
            loop.run_main(test(*args, **kwargs), deadline_s=_DEADLINE_S)
            assert loop.errors == []
        finally:
            dispose(loop)

    return run
