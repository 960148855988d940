"""What is wrong with a configuration: every mistake at once, each named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SHOWN_PROBLEMS = 20
"""Nobody reads more at once, and looking for what was meant takes time for each."""


class Problem(NamedTuple):
    where: str  # "server.properties line 3", or the command line's option
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.name}: {self.what}"


class ConfigError(ValueError):
    def __init__(self, problems: Sequence[Problem]) -> None:
        shown = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
        if len(problems) > SHOWN_PROBLEMS:
            shown.append(f"and {len(problems) - SHOWN_PROBLEMS} more")
        super().__init__("\n".join(shown))
        self.problems = tuple(problems)
