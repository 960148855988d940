"""The list of all figures. A figure that is computed from others comes after them."""

from __future__ import annotations

from typing import Final

from pipeline.figures import (
    anomalies,
    availability,
    lag,
    latency,
    load,
    losses,
    measures,
    reached,
    rebalances,
    recovery,
    releases,
)

FIGURES: Final = {
    figure.name: figure
    for module in (
        *(releases, anomalies, losses, availability, recovery, latency, rebalances, load, lag),
        *(reached, measures),
    )
    for figure in module.FIGURES
}
"""All figures by name, in the order of computation."""
