"""A picture of the rows: how many times Apache Kafka's figure ours is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.rounds import Measured
from bench.verdicts import Verdict, verdicts

COLOURS = {"ahead": "#2a7f62", "level": "#8a8a8a", "behind": "#b5442e"}
LONGEST_BAR = 5.0
"""Longer ones are cut; their label says how long they are."""

FIGURES = {
    "messages_per_s": "messages per second",
    "server_us_per_message": "server CPU per message",
    "p50_us": "p50 latency",
    "p99_us": "p99 latency",
}


def plot(measured: Sequence[Measured], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    bars = [
        (f"{one.row.name} · {one.row.client} · {one.storage}", found)
        for one in measured
        for found in verdicts(measured, one)
    ][::-1]
    figure, axes = pyplot.subplots(figsize=(10, 1.0 + 0.26 * max(1, len(bars))), dpi=110)
    for place, (_, found) in enumerate(bars):
        shown = min(found.factor, LONGEST_BAR)
        axes.barh(place, shown, color=COLOURS[found.standing], height=0.66)
        axes.annotate(
            _label(found),
            (max(shown, 1), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(bars)), [label for label, _ in bars], fontsize=8)
    axes.axvline(1, color="#333333", linewidth=1)
    axes.set_xlim(0, LONGEST_BAR * 1.5)
    axes.set_ylim(-0.7, max(1, len(bars)) - 0.3)
    axes.set_xlabel("times as good as Apache Kafka on the same machine; longer is better")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, facecolor="white")
    pyplot.close(figure)


def _label(found: Verdict) -> str:
    return f"{found.factor:.2f}x  {FIGURES[found.figure]}, {found.standing}"
