"""The search for a linearization of registers, each by the quickest exact way there is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from checkers.linear.calls import canonical
from checkers.linear.search import Outcome, Search, Searchable, Step, searched
from checkers.linear.zones import unique_writes, zones


class Codes:
    """Values as numbers, in the order in which they are met."""

    def __init__(self) -> None:
        self._codes: dict[Hashable, int] = {}

    def of(self, value: Any) -> int:
        return self._codes.setdefault(canonical(value), len(self._codes))


def register_searches(
    steps: Mapping[Hashable, Sequence[Step]], initial: int
) -> dict[Hashable, Searchable]:
    """By register. Where every value is written once, zones decide without a search."""
    return {
        key: Decided(partial(zones, mine, initial))
        if unique_writes(mine, initial)
        else Search(mine, initial)
        for key, mine in steps.items()
        if mine
    }


def searched_registers(
    steps: Mapping[Hashable, Sequence[Step]], initial: int, budget: int
) -> dict[Hashable, Outcome]:
    """The outcome of each register that was searched."""
    return searched(register_searches(steps, initial), budget)


class Decided:
    """An answer that needs no budget, in the form of a search."""

    def __init__(self, run: Callable[[], Outcome]) -> None:
        self._run = run

    def run(self, _: int) -> Outcome:
        return self._run()
