"""Python's own clock and dice, bound to a simulation, for clients that were not written for one.

Inside `bound_to` the modules `time` and `random` follow simulated time and the seed, each host with
a stream of its own. Import such a client inside it, too: a module that says `from time import
monotonic` keeps what it finds, and what it finds here serves later simulations as well.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness.sim.clock import START_MS
from harness.sim.simulation import Simulation

_CLOCKS: dict[str, Callable[[Simulation], float]] = {
    "time": lambda simulation: START_MS / 1000 + simulation.now_s,
    "time_ns": lambda simulation: START_MS * 1_000_000 + simulation.loop.now_ns,
    "monotonic": lambda simulation: simulation.now_s,
    "monotonic_ns": lambda simulation: simulation.loop.now_ns,
    "perf_counter": lambda simulation: simulation.now_s,
}
_DICE = ("betavariate", "choice", "choices", "expovariate", "gauss", "getrandbits", "normalvariate",
         "randbytes", "randint", "random", "randrange", "sample", "shuffle", "triangular",
         "uniform")  # fmt: skip

_bound: list[Simulation] = []
"""The one in force is the last."""

_dice: dict[str, random.Random] = {}
"""Of the processes of the one in force, by the names of their lives."""


@contextmanager
def bound_to(simulation: Simulation) -> Iterator[None]:
    _bound.append(simulation)
    _dice.clear()
    for name, stand_in in _STAND_INS["time"].items():
        setattr(time, name, stand_in)
    for name, stand_in in _STAND_INS["random"].items():
        setattr(random, name, stand_in)
    try:
        yield
    finally:
        _bound.pop()
        _dice.clear()
        if not _bound:
            for name, original in _ORIGINALS["time"].items():
                setattr(time, name, original)
            for name, original in _ORIGINALS["random"].items():
                setattr(random, name, original)


def _clock(name: str, shown: Callable[[Simulation], float]) -> Callable[[], float]:
    original = _ORIGINALS["time"][name]
    return lambda: shown(_bound[-1]) if _bound else original()


def _throw(name: str) -> Callable[..., Any]:
    original = _ORIGINALS["random"][name]

    def thrown(*args: Any, **kwargs: Any) -> Any:
        if not _bound:
            return original(*args, **kwargs)
        life = _bound[-1].loop.present_life().name
        if life not in _dice:
            _dice[life] = _bound[-1].decisions.random("module_random", life)
        return getattr(_dice[life], name)(*args, **kwargs)

    return thrown


_ORIGINALS: dict[str, dict[str, Any]] = {
    "time": {name: getattr(time, name) for name in _CLOCKS},
    "random": {name: getattr(random, name) for name in _DICE},
}
_STAND_INS: dict[str, dict[str, Any]] = {
    "time": {name: _clock(name, shown) for name, shown in _CLOCKS.items()},
    "random": {name: _throw(name) for name in _DICE},
}
