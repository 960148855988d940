"""Who is ahead in a row, and by which figure that is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.measure import Figures
from bench.rounds import Measured
from bench.rows import CEILING, RIVALS, Row

Standing = Literal["ahead", "level", "behind"]

AT_THE_CEILING = 0.9


@dataclass(frozen=True)
class Verdict:
    standing: Standing
    figure: str
    # Above one is better, whatever the figure.
    factor: float

    def __str__(self) -> str:
        return f"{self.standing} x{self.factor:.2f} ({self.figure})"


def _compare(ours: Figures, theirs: Figures, figure: str, higher_is_better: bool) -> Verdict:
    mine, other = float(getattr(ours, figure)), float(getattr(theirs, figure))
    if mine == 0 or other == 0:
        return Verdict("level", figure, 1.0)
    factor = mine / other if higher_is_better else other / mine
    inside = abs(factor - 1) <= max(ours.spread[figure], theirs.spread[figure])
    standing: Standing = "level" if inside else "ahead" if factor > 1 else "behind"
    return Verdict(standing, figure, factor)


def judge(row: Row, ours: Figures, theirs: Figures, ceiling: Figures | None) -> list[Verdict]:
    if row.judged == "latency":
        return [_compare(ours, theirs, figure, False) for figure in ("p50_us", "p99_us")]
    if _is_client_the_limit(ours, ceiling) and _is_client_the_limit(theirs, ceiling):
        # Neither server was the limit: what remains to compare is what it cost them.
        return [_compare(ours, theirs, "server_us_per_message", False)]
    return [_compare(ours, theirs, "messages_per_s", True)]


def _is_client_the_limit(figures: Figures, ceiling: Figures | None) -> bool:
    """Its core is full, or a server that does nothing gets hardly more through it."""
    if figures.client_bound or ceiling is None:
        return figures.client_bound
    return figures.messages_per_s >= AT_THE_CEILING * ceiling.messages_per_s


def verdicts(measured: Sequence[Measured], one: Measured) -> list[Verdict]:
    """Ours against Apache Kafka's in the same row; nothing for the others."""
    theirs = _peer(measured, one, RIVALS.get(one.system, ""))
    if theirs is None:
        return []
    ceiling = _peer(measured, one, CEILING)
    idle = None if ceiling is None else ceiling.figures
    return judge(one.row, one.figures, theirs.figures, idle)


def share_of_ceiling(measured: Sequence[Measured], one: Measured) -> float | None:
    ceiling = _peer(measured, one, CEILING)
    if ceiling is None or one.system == CEILING:
        return None
    if one.row.judged == "latency":
        return ceiling.figures.p50_us / one.figures.p50_us
    return one.figures.messages_per_s / ceiling.figures.messages_per_s


def _peer(measured: Sequence[Measured], one: Measured, system: str) -> Measured | None:
    for other in measured:
        if (other.row, other.storage, other.system) == (one.row, one.storage, system):
            return other
    return None
