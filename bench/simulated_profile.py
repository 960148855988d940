"""Where a simulated second's CPU time goes, and what it would take to play a hundred of them."""

from __future__ import annotations

import asyncio
import cProfile
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import TypeVar

from bench.simulated_load import Measured, measure

_TOP = 20
_WARM_UP_S = 12.0
_ROOT = Path(__file__).parents[1]
_ASYNCIO = str(Path(asyncio.__file__).parent)

Function = tuple[str, int, str]
_Key = TypeVar("_Key")


def profile_text(seed: int, length_s: float, unprofiled: Measured, aim: float) -> str:
    """`unprofiled` gives the true cost: a profiler makes small functions look large."""
    one, own_s, calls = _profiled(seed, length_s, unprofiled)
    total_s = sum(own_s.values())
    lines = [f"profile, {one.watching} invariants, own client: share of own time, by room"]
    rooms: dict[str, float] = {}
    for function, own in own_s.items():
        room = _room(function)
        rooms[room] = rooms.get(room, 0.0) + own
    lines += [f"  {own / total_s:6.1%}  {room}" for room, own in _largest_first(rooms)]
    lines += ["", "  share    calls per simulated s  function"]
    for function, own in _largest_first(own_s)[:_TOP]:
        per_s = calls[function] / one.simulated_s
        lines.append(f"  {own / total_s:6.1%}  {per_s:>21,.0f}  {_name(function)}")
    lines += ["", _what_it_takes(unprofiled, rooms, total_s, aim)]
    return "\n".join(lines)


def _profiled(
    seed: int, length_s: float, like: Measured
) -> tuple[Measured, dict[Function, float], Counter[Function]]:
    """Seconds and calls by function. What a built-in takes counts for its caller."""
    measure(seed, _WARM_UP_S, watching=like.watching)
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    one = measure(seed, length_s, watching=like.watching)
    profile.disable()
    own_s: dict[Function, float] = {}
    calls: Counter[Function] = Counter()
    # Not by pstats: to it, all generated functions of one name are the same, and the last one wins.
    for entry in profile.getstats():
        code = entry.code
        if isinstance(code, CodeType):
            function = (code.co_filename, code.co_firstlineno, code.co_qualname)
            own_s[function] = own_s.get(function, 0.0) + entry.inlinetime
            calls[function] += entry.callcount
    return one, own_s, calls


def _largest_first(own_s: dict[_Key, float]) -> list[tuple[_Key, float]]:
    return sorted(own_s.items(), key=lambda each: -each[1])


def _what_it_takes(one: Measured, rooms: dict[str, float], total_s: float, aim: float) -> str:
    has_us = one.cpu_s / one.messages * 1e6
    per_s = one.messages / one.simulated_s
    needs_us = 1e6 / aim / per_s
    broker = sum(rooms.get(each, 0.0) for each in _BROKER_ROOMS) / total_s
    without_simulator = one.speed / broker if broker else float("inf")
    verdict = (
        f"to play {aim:.0f} simulated seconds in one: {per_s:.0f} messages a simulated second "
        f"cost {has_us:.0f} us each, all told, and may cost {needs_us:.0f}. The broker's own share "
        f"of that is {broker * has_us:.0f} us: were the simulator, its clients and the invariants "
        f"free, it would play {without_simulator:.0f}."
    )
    if broker * has_us <= needs_us:
        return f"{verdict} The rest must shrink to {needs_us - broker * has_us:.0f} us."
    return f"{verdict} So the broker's handling of a message must become cheaper, too."


_BROKER_ROOMS = ("broker", "broker: generated codecs")


def _room(function: Function) -> str:
    file, _, name = function
    path = Path(file)
    if path.is_relative_to(_ROOT / "harness/sim/invariants") or path.name == "inspect.py":
        return "invariants"
    if path.is_relative_to(_ROOT / "harness/sim"):
        is_client = path.name.startswith("client") or path.name == "actors.py"
        return "client" if is_client else "simulator"
    if path.is_relative_to(_ROOT / "broker"):
        return "broker"
    if file == "<string>":
        is_dataclass = name.startswith("__create_fn__")
        return "dataclasses, of all rooms" if is_dataclass else "broker: generated codecs"
    if file.startswith(_ASYNCIO):
        return "asyncio"
    return "Python's library"


def _name(function: Function) -> str:
    file, line, name = function
    path = Path(file)
    shown = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path.name
    return f"{shown}:{line} {name}"
