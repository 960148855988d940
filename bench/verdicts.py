"""Who is ahead in a row, and by which figure that is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.measure import Figures
from bench.rounds import Measured
from bench.rows import APACHE, CEILING, OURS, Row

Standing = Literal["ahead", "level", "behind"]


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


def judge(row: Row, ours: Figures, theirs: Figures) -> list[Verdict]:
    if row.judged == "latency":
        return [_compare(ours, theirs, figure, False) for figure in ("p50_us", "p99_us")]
    if ours.client_bound and theirs.client_bound:
        # Neither server was the limit: what remains to compare is what it cost them.
        return [_compare(ours, theirs, "server_us_per_message", False)]
    return [_compare(ours, theirs, "messages_per_s", True)]


def verdicts(measured: Sequence[Measured], one: Measured) -> list[Verdict]:
    """Ours against Apache Kafka's in the same row; nothing for the others."""
    theirs = _peer(measured, one, APACHE)
    if one.system != OURS or theirs is None:
        return []
    return judge(one.row, one.figures, theirs.figures)


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
