"""Plan: when which nemesis strikes, drawn from the seed and nothing else.

One nemesis alternates with quiet. Several take turns in a rotating mix, after Jepsen's tests of
Bufstream: at every interval some of them are drawn, a quarter of the time none, and all is healed
in between. So a fault is seen alone, with others, and after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from harness.decisions import Decisions
from nemesis.base import Moment, Nemesis

SHARE_OF_QUIET = 0.25
SHARE_OF_NEMESES = 0.5
_HEALED_AT = 0.75
"""Of an interval of the mix; the rest of it nothing is broken."""
_DUE_MAX = 2
"""So many at once are no crowd yet."""
_SHORTEST = 0.25
"""Of an interval: what the end of a run leaves no more room for is not begun."""


def draw(
    decisions: Decisions, nemeses: Sequence[Nemesis], *, length_ms: float, interval_ms: float
) -> tuple[Moment, ...]:
    """In the order in which they begin; each ends before the run's time is up."""
    names = [each.name for each in nemeses]
    if not names:
        return ()
    if len(names) == 1:
        return alternating(decisions, names[0], length_ms=length_ms, interval_ms=interval_ms)
    return rotating_mix(decisions, names, length_ms=length_ms, interval_ms=interval_ms)


def alternating(
    decisions: Decisions, name: str, *, length_ms: float, interval_ms: float
) -> tuple[Moment, ...]:
    """A fault for about an interval, quiet for about half of one, and so on."""
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
    """Each of them at least once, where the run is long enough for that."""
    moments: list[Moment] = []
    begin_ms = 0.0
    count = max(1, int(length_ms / interval_ms))
    while not moments or begin_ms + interval_ms <= length_ms:
        number = round(begin_ms / interval_ms)
        due = names[number % count :: count] if len(names) <= _DUE_MAX * count else ()
        dice = decisions.random("nemesis_plan", f"interval {begin_ms / interval_ms:.0f}")
        span_ms = min(interval_ms, length_ms)
        for name in _mixed(names, dice, due, may_be_quiet=bool(moments)):
            at_ms = begin_ms + span_ms * dice.uniform(0.05, 0.25)
            for_ms = begin_ms + span_ms * _HEALED_AT - at_ms
            moments.append(_moment(name, len(moments) + 1, at_ms, for_ms))
        begin_ms += interval_ms
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
