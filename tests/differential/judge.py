"""Sorts differences into intended ones and failures, and reports failures for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from tests.differential.compare import Difference
from tests.differential.show import shown, shown_request, shown_versions


class _Anything:
    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING = _Anything()


class Kind(Enum):
    """What sort of difference: the headings of the page in the documentation."""

    ABSENT = "What our broker does not serve"
    SETTINGS = "Settings and their defaults"
    FAILURES = "Kafka fails, our broker answers"
    REFUSED = "Kafka accepts, our broker refuses"
    ACCEPTED = "Kafka refuses, our broker accepts"
    GROUPS = "Groups"
    TRANSACTIONS = "Transactions"
    FORMS = "The same answer in another form"


@dataclass(frozen=True)
class Intended:
    """A difference from Apache Kafka that we want, or accept, and why."""

    area: str
    """`*` for a difference that turns up in every area."""
    path: str
    """Of the field: `topics[*].error_code`. A star in brackets stands for any element, and two
    stars at the beginning for any path to the field."""
    reason: str
    """One plain sentence."""
    kind: Kind
    step: str = "*"
    """`story/step`, with stars as in file names."""
    versions: range | None = None
    """None: every version."""
    kafka: Any = ANYTHING
    ours: Any = ANYTHING

    @property
    def subject(self) -> str:
        """The field for people: `topics.error_code`, or `api_keys[17]` where one is meant."""
        return self.path.replace("[*]", "").replace("results[4/1].", "").lstrip("*.")

    def covers(self, difference: Difference) -> bool:
        return (
            self.area in ("*", difference.area)
            and (self.versions is None or difference.version in self.versions)
            and fnmatchcase(difference.place, self.step)
            and bool(_pattern(self.path).fullmatch(difference.path))
            and (self.kafka is ANYTHING or self.kafka == difference.kafka)
            and (self.ours is ANYTHING or self.ours == difference.ours)
        )


def _pattern(path: str) -> re.Pattern[str]:
    inner = re.escape(path.removeprefix("**")).replace(r"\[\*\]", r"\[[^]]*\]")
    return re.compile((".*" if path.startswith("**") else "") + inner)


@dataclass
class Verdict:
    failures: list[Difference] = field(default_factory=list)
    intended: list[tuple[Difference, Intended]] = field(default_factory=list)
    unused: list[Intended] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.failures and not self.unused


def judged(
    differences: Iterable[Difference], intended: Sequence[Intended], areas: Sequence[str]
) -> Verdict:
    """`areas` were played whole, so each intended difference of theirs must have been seen.

    They contain `*` if every area was played.
    """
    verdict = Verdict()
    used: set[int] = set()
    for difference in differences:
        number = next((n for n, each in enumerate(intended) if each.covers(difference)), None)
        if number is None:
            verdict.failures.append(difference)
        else:
            used.add(number)
            verdict.intended.append((difference, intended[number]))
    verdict.unused = [
        each for n, each in enumerate(intended) if n not in used and each.area in areas
    ]
    return verdict


def report(verdict: Verdict) -> Iterator[str]:
    """Failures with the request and both answers; the same one in several versions once."""
    alike: dict[tuple[str, ...], list[Difference]] = {}
    for each in verdict.failures:
        key = (each.area, each.place, each.path, shown(each.kafka), shown(each.ours))
        alike.setdefault(key, []).append(each)
    by_step: dict[tuple[str, str], list[list[Difference]]] = {}
    for same in alike.values():
        by_step.setdefault((same[0].area, same[0].place), []).append(same)
    for (area, place), fields in by_step.items():
        yield f"DIFFERENT {area}: {place}"
        for same in fields:
            versions = shown_versions([each.version for each in same])
            one = same[0]
            yield f"  {versions} {one.path}: Kafka {shown(one.kafka)}, ours {shown(one.ours)}"
        one = fields[0][0]
        if one.asked is not None:
            yield f"    request: {shown_request(one.asked)}"
        if one.kafka_answer is not None or one.our_answer is not None:
            yield f"    Kafka:   {shown(one.kafka_answer)}"
            yield f"    ours:    {shown(one.our_answer)}"
    for entry in verdict.unused:
        yield f"UNUSED intended difference: {entry}; the brokers agree now, so remove it"
