"""Compares what two brokers answered to the same story, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.normalise import IN_ORDER, Symbols, identity, normalised
from tests.differential.play import Play
from tests.differential.talk import Step

ABSENT = "<absent>"
ENDING = "ending"
"""The path of what happened instead of a response."""
STOPPED = "stopped"
"""The path of why a story was not told to its end."""


@dataclass(frozen=True)
class Difference:
    """One field in which the answers to one step differ."""

    area: str
    story: str
    version: int
    step: str
    path: str
    kafka: Any
    ours: Any
    asked: Step | None
    kafka_answer: Any
    our_answer: Any

    @property
    def place(self) -> str:
        return f"{self.story}/{self.step}"


def compared(kafka: Play, ours: Play) -> Iterator[Difference]:
    """Every difference between two plays of the same story in the same version."""
    kafka_symbols, our_symbols = Symbols(kafka.label), Symbols(ours.label)

    def difference(
        step: Step | None, path: str, values: tuple[Any, Any], answers: Any
    ) -> Difference:
        return Difference(
            kafka.story.area,
            kafka.story.name,
            kafka.version,
            step.name if step else "",
            path,
            *values,
            step,
            *answers,
        )

    for theirs, mine in zip(kafka.steps, ours.steps, strict=False):
        if theirs.name != mine.name:
            # The branches of a story depend on answers, so a step before this one differs too.
            yield difference(theirs, "next step", (theirs.name, mine.name), (None, None))
            break
        kafka_symbols.step = our_symbols.step = theirs.name
        answers = (
            normalised(theirs.response, kafka_symbols),
            normalised(mine.response, our_symbols),
        )
        if theirs.is_setup:
            continue
        if theirs.ending != mine.ending:
            values = (theirs.ending or "response", mine.ending or "response")
            yield difference(theirs, ENDING, values, answers)
        if theirs.response is None or mine.response is None:
            continue
        for path, left, right in value_differences(*answers):
            yield difference(theirs, path, (left, right), answers)
    if kafka.stopped or ours.stopped:
        last = kafka.steps[-1] if kafka.steps else None
        yield difference(last, STOPPED, (kafka.stopped, ours.stopped), (None, None))


def value_differences(left: Any, right: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two trees differ. Elements of arrays are named by what tells them apart."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for name in dict.fromkeys((*left, *right)):
            inner = f"{path}.{name}" if path else name
            yield from value_differences(left.get(name, ABSENT), right.get(name, ABSENT), inner)
    elif _is_array_of_structs(left, right):
        is_ordered = path.rpartition(".")[2] in IN_ORDER
        lefts, rights = _named(left, is_ordered), _named(right, is_ordered)
        for name in dict.fromkeys((*lefts, *rights)):
            yield from value_differences(
                lefts.get(name, ABSENT), rights.get(name, ABSENT), f"{path}[{name}]"
            )
    elif left != right or type(left) is not type(right):
        yield path, left, right


def _is_array_of_structs(left: Any, right: Any) -> bool:
    if not isinstance(left, list) or not isinstance(right, list):
        return False
    elements = left + right
    return bool(elements) and all(isinstance(each, Mapping) for each in elements)


def _named(elements: list[Mapping[str, Any]], is_ordered: bool) -> dict[str, Mapping[str, Any]]:
    """A second element with the same identity gets a number, so that doubles count."""
    if is_ordered:
        return {str(number): element for number, element in enumerate(elements)}
    named = {}
    seen: Counter[str] = Counter()
    for element in elements:
        name = "/".join(map(str, identity(element)))
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name}#{seen[name]}"] = element
    return named
