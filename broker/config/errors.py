"""What is wrong with a configuration: every mistake at once, each named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    where: str  # "server.properties line 3", or the command line's option
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.name}: {self.what}"


class ConfigError(ValueError):
    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
