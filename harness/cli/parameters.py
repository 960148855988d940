"""Parameter types of the command line that refuse what click's own let through."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

DAYS_30_S = 30 * 86_400.0
"""Longer than any run; times below it keep their nanoseconds in 64 bits."""
RATE_MAX = 1e7
INT64_MAX = 2**63 - 1
INT32_MAX = 2**31 - 1


class Finite(click.FloatRange):
    """A number in a range. Click's own range takes nan, which is neither too small nor too large,
    and where it has no upper end, inf."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class OutputFile(click.Path):
    """A file to be written into a directory that is there; none is made."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not value:
            self.fail("the name is empty; give a file", param, ctx)
        path = Path(str(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"{path.parent} is not a directory; create it first", param, ctx)
        return path
