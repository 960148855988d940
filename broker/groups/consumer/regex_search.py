"""A search of all topic names for those that match a group's regular expressions, in slices."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from broker.groups.consumer.subscriptions import ResolvedRegex
from broker.groups.consumer.topic_regex.automaton import TopicPattern
from broker.groups.consumer.topic_regex.errors import RegexSyntaxError

_log = logging.getLogger(__name__)

_NAMES_PER_SLICE = 1_000
_CHARACTERS_PER_SLICE = 1_000
"""Of the expressions that are compiled: about ten milliseconds, as the rest of a slice."""
_WORK_PER_SLICE = 20_000
"""Of the automatons, in states visited: about ten milliseconds."""


class RegexSearch:
    def __init__(
        self, regexes: Sequence[str], names: Sequence[str], version: int, started_ms: int
    ) -> None:
        """`version` is that of the metadata which has these names."""
        self._uncompiled = list(reversed(regexes))
        self._patterns: list[tuple[str, TopicPattern | None]] = []
        self._names = names
        self._version = version
        self._started_ms = started_ms
        self._found: dict[str, list[str]] = {regex: [] for regex in regexes}
        self._position = 0

    def go_on(self) -> bool:
        """Carries out the next slice; whether it was the last."""
        if not self._has_compiled():
            return False
        end = min(len(self._names), self._position + max(1, _NAMES_PER_SLICE // len(self._found)))
        allowed = self._work + _WORK_PER_SLICE
        while self._position < end and self._work < allowed:
            name = self._names[self._position]
            for regex, pattern in self._patterns:
                if pattern is not None and pattern.matches(name):
                    self._found[regex].append(name)
            self._position += 1
        return self._position == len(self._names)

    def _has_compiled(self) -> bool:
        """Compiles as many expressions as fit in a slice, at least one; whether none is left."""
        characters = 0
        while self._uncompiled and characters < _CHARACTERS_PER_SLICE:
            regex = self._uncompiled.pop()
            self._patterns.append((regex, _compiled(regex)))
            characters += len(regex)
        return not self._uncompiled

    @property
    def _work(self) -> int:
        return sum(pattern.work for _, pattern in self._patterns if pattern is not None)

    def found(self) -> dict[str, ResolvedRegex]:
        return {
            regex: ResolvedRegex(frozenset(names), self._version, self._started_ms)
            for regex, names in self._found.items()
        }


def _compiled(regex: str) -> TopicPattern | None:
    """Expressions are checked when members send them; one in the log may be Apache Kafka's."""
    try:
        return TopicPattern(regex)
    except RegexSyntaxError as problem:
        _log.error("the regular expression %r matches no topic here: %s", regex, problem)
        return None
