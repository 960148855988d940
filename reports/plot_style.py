"""How plots look. Colours of the page stand behind stand-ins, so that it follows light and dark."""

from __future__ import annotations

import re
from typing import Any

STAND_INS = {
    "#010203": "var(--ink)",
    "#040506": "var(--mute)",
    "#070809": "var(--line)",
    "#0a0b0c": "var(--band)",
    "#0d0e0f": "var(--ok-line)",
    "#101112": "var(--info-line)",
    "#131415": "var(--fail-line)",
}
INK, MUTE, LINE, BAND, OK_LINE, INFO_LINE, FAIL_LINE = STAND_INS
NODES = ("#3d95e6", "#e08a00", "#9b7fe0", "#2f9e77", "#d6459a", "#8a8f98", "#b08900")
"""Can be read on light and dark, with dark words on them."""
ON = "#10151b"
STYLE: Any = {
    "svg.hashsalt": "log-trial",
    "svg.fonttype": "none",
    "font.family": ["sans-serif"],
    "font.size": 9.0,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTE,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTE,
    "ytick.color": MUTE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
    "path.simplify": True,
    # A key with dollar signs is a name, not a formula.
    "text.parse_math": False,
}


def titled(axis: Any, title: str) -> None:
    axis.set_title(title, loc="left", fontsize=9, fontweight="bold")


def color_of(node: str, nodes: list[str]) -> str:
    return NODES[nodes.index(node) % len(NODES)]


def node_legend(axis: Any) -> None:
    """Beside the title, above the plot; nodes in their order."""
    drawn = sorted(zip(*axis.get_legend_handles_labels(), strict=True), key=lambda each: each[1])
    if drawn:
        handles, labels = zip(*drawn, strict=True)
        axis.legend(handles, labels, loc="lower right", bbox_to_anchor=(1.0, 0.98),
                    ncols=min(len(drawn), 9), frameon=False, fontsize=8, handlelength=1.2,
                    borderaxespad=0.0, columnspacing=1.0)  # fmt: skip


def for_page(svg: str) -> str:
    """The SVG of a figure as it stands inside a page, in the page's colours."""
    svg = svg[svg.index("<svg") :]
    for stand_in, variable in STAND_INS.items():
        svg = svg.replace(stand_in, variable)
    # Width and height are the page's affair.
    return re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*pt"', r"\1", re.sub(
        r'(<svg[^>]*?) (?:width|height)="[^"]*pt"', r"\1", svg, count=1), count=1)  # fmt: skip
