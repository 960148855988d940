"""Plan: when which nemesis strikes, drawn from the seed alone.

One nemesis alternates with quiet. Several take turns in a rotating mix, after Jepsen's tests of
Bufstream: at every interval some of them are drawn, a quarter of the time none, and all is healed
in between. So a fault is seen alone, with others, and after them. Each nemesis that was asked for
by name has a moment: if the run has too few intervals for that, they are shortened, down to a limit
below which the run is refused (`needed_ms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random

from harness.decisions import Decisions
from nemesis.base import Moment, Nemesis

SHARE_OF_QUIET = 0.25
SHARE_OF_NEMESES = 0.5
_HEALED_AT = 0.75
"""Share of an interval after which all faults of the mix are healed."""
_DUE_MAX = 2
"""Number of nemeses that may be due in one interval; more would only be seen as a crowd."""
_SHORTEST_INTERVAL_MS = 5_000.0
"""An interval shortened below this leaves most faults no time to take hold and be felt."""
_SHORTEST = 0.25
"""Share of an interval; a fault shorter than this is not begun at the end of a run."""
_ROUNDING = 1e-9


def draw(
    decisions: Decisions,
    nemeses: Sequence[Nemesis],
    *,
    length_ms: float,
    interval_ms: float,
    is_any: bool = False,
) -> tuple[Moment, ...]:
    """Moments in the order of their begin; each ends within the run.

    Each nemesis has a moment, unless `is_any`: then a short run draws some of them.
    """
    names = [each.name for each in nemeses]
    if not names:
        return ()
    if len(names) == 1:
        return alternating(decisions, names[0], length_ms=length_ms, interval_ms=interval_ms)
    if not is_any:
        interval_ms = min(interval_ms, length_ms / _intervals_for(len(names)))
    return rotating_mix(decisions, names, length_ms=length_ms, interval_ms=interval_ms)


def needed_ms(count: int, interval_ms: float) -> float:
    """Length of the shortest run that has a useful moment for each of `count` nemeses."""
    if count <= _DUE_MAX:
        return 0.0
    return _intervals_for(count) * min(interval_ms, _SHORTEST_INTERVAL_MS)


def _intervals_for(count: int) -> int:
    return ceil(count / _DUE_MAX)


def alternating(
    decisions: Decisions, name: str, *, length_ms: float, interval_ms: float
) -> tuple[Moment, ...]:
    """Alternate a fault of about one interval with a quiet time of about half of one."""
    dice = decisions.random("nemesis_plan", name)
    moments: list[Moment] = []
    at_ms = min(interval_ms, length_ms) * dice.uniform(0.2, 0.5)
    while True:
        for_ms = min(interval_ms * dice.uniform(0.5, 1.0), length_ms - at_ms)
        if moments and for_ms < interval_ms * _SHORTEST:
            return tuple(moments)
        moments.append(_moment(name, len(moments) + 1, at_ms, for_ms))
        at_ms += for_ms + interval_ms * dice.uniform(0.3, 0.7)


def rotating_mix(
    decisions: Decisions, names: Sequence[str], *, length_ms: float, interval_ms: float
) -> tuple[Moment, ...]:
    """Draw a mix per interval; each nemesis has a moment if the run is long enough."""
    moments: list[Moment] = []
    # A rounding error must not drop the last interval of an evenly divided run.
    count = max(1, int(length_ms / interval_ms + _ROUNDING))
    for number in range(count):
        begin_ms = number * interval_ms
        due = names[number::count] if len(names) <= _DUE_MAX * count else ()
        dice = decisions.random("nemesis_plan", f"interval {number}")
        span_ms = min(interval_ms, length_ms)
        for name in _mixed(names, dice, due, may_be_quiet=bool(moments)):
            at_ms = begin_ms + span_ms * dice.uniform(0.05, 0.25)
            for_ms = begin_ms + span_ms * _HEALED_AT - at_ms
            moments.append(_moment(name, len(moments) + 1, at_ms, for_ms))
    return tuple(sorted(moments, key=lambda moment: moment.at_ms))


def _mixed(
    names: Sequence[str], dice: Random, due: Sequence[str], *, may_be_quiet: bool
) -> list[str]:
    is_quiet = dice.random() < SHARE_OF_QUIET
    chosen = [name for name in names if dice.random() < SHARE_OF_NEMESES]
    if is_quiet and may_be_quiet:
        return list(due)
    mixed = [name for name in names if name in chosen or name in due]
    return mixed or [dice.choice(names)]


def _moment(name: str, number: int, at_ms: float, for_ms: float) -> Moment:
    return Moment(
        nemesis=name, name=f"{name} {number}", at_ms=round(at_ms, 1), for_ms=round(for_ms, 1)
    )
