"""One figure of our broker against the same figure of Apache Kafka, over several rounds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

OURS = "ours"
KAFKA = "Apache Kafka"

Standing = Literal["ahead", "level", "behind"]


@dataclass
class Comparison:
    """Takings of one figure by system, one per round."""

    name: str
    unit: str
    higher_is_better: bool = False
    # Figures that no bar applies to: they explain another row.
    judged: bool = True
    takings: dict[str, list[float]] = field(default_factory=lambda: {OURS: [], KAFKA: []})

    def add(self, system: str, value: float) -> None:
        self.takings[system].append(value)

    def median(self, system: str) -> float:
        return statistics.median(self.takings[system])

    def spread(self, system: str) -> float:
        """Half the distance between the extremes, in the figure's own unit."""
        taken = self.takings[system]
        return (max(taken) - min(taken)) / 2

    @property
    def is_complete(self) -> bool:
        return all(self.takings.values())

    def standing(self) -> Standing:
        """Level means: the medians differ by no more than the larger spread of the two."""
        ours, theirs = self.median(OURS), self.median(KAFKA)
        if abs(ours - theirs) <= max(self.spread(OURS), self.spread(KAFKA)):
            return "level"
        return "ahead" if (ours > theirs) == self.higher_is_better else "behind"

    @property
    def is_behind(self) -> bool:
        return self.judged and self.is_complete and self.standing() == "behind"


HEADINGS = ("", "unit", "ours", "+-", "Apache Kafka", "+-", "")


def table(comparisons: Sequence[Comparison]) -> str:
    lines = [HEADINGS, *(_line(one) for one in comparisons)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _line(one: Comparison) -> tuple[str, ...]:
    cells: list[str] = [one.name, one.unit]
    for system in (OURS, KAFKA):
        taken = one.takings[system]
        cells += [_number(one.median(system)), _number(one.spread(system))] if taken else ["", ""]
    standing = one.standing() if one.judged and one.is_complete else ""
    return (*cells, standing.upper() if standing == "behind" else standing)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
