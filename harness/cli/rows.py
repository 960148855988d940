"""Rows of values as lines of text, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

_WIDEST: Final = 60


def aligned(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """A line of names and one for each row; numbers stand at the right of their columns."""
    cells = [[shown(value) for value in row] for row in rows]
    widths = [
        max(len(name), *(len(row[at]) for row in cells)) if cells else len(name)
        for at, name in enumerate(names)
    ]
    is_number = [
        any(row[at] is not None for row in rows)
        and all(row[at] is None or _is_number(row[at]) for row in rows)
        for at in range(len(names))
    ]
    for line in (names, *cells):
        yield "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, is_number, strict=True)
        ).rstrip()


def shown(value: Any) -> str:
    """One line, whatever it holds, with a bound on its length."""
    from harness.history.json_text import readable

    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = readable(" ".join(str(value).split()))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
