"""What the members of a group are subscribed to, counted so that a change costs little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from broker.groups.consumer.member import Member


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a regular expression matched."""

    topics: frozenset[str]
    version: int
    """Of the metadata that was searched."""
    timestamp_ms: int


NO_TOPICS = ResolvedRegex(frozenset(), 0, 0)


class Subscriptions:
    """Changed by replaying records only."""

    def __init__(self) -> None:
        self._by_name: Counter[str] = Counter()
        """Topic to the number of members that name it."""
        self._by_regex: Counter[str] = Counter()
        """Topic to the number of resolved regular expressions that match it."""
        self._regex_members: Counter[str] = Counter()
        self._set_members: Counter[frozenset[str]] = Counter()
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self.resolved: dict[str, ResolvedRegex] = {}

    def __contains__(self, topic: str) -> bool:
        return topic in self._by_name or topic in self._by_regex

    @property
    def names(self) -> set[str]:
        """All topics that the group is subscribed to, whether they exist or not."""
        return {*self._by_name, *self._by_regex}

    @property
    def regexes(self) -> list[str]:
        """The regular expressions of members, sorted, resolved or not."""
        return sorted(self._regex_members)

    @property
    def unresolved(self) -> bool:
        return any(regex not in self.resolved for regex in self._regex_members)

    def members_with(self, regex: str) -> int:
        return self._regex_members[regex]

    def topics_of(self, member: Member) -> frozenset[str]:
        """The topics of one member. An expression that is not resolved yet matches nothing."""
        if not member.topic_regex:
            return member.topic_names
        matched = self.resolved.get(member.topic_regex, NO_TOPICS).topics
        return member.topic_names | matched if member.topic_names else matched

    def shared(self, names: frozenset[str]) -> frozenset[str]:
        """The set with these names that other members have. Equal sets are then identical, and
        what is computed for one member serves all."""
        return self._sets.get(names, names)

    # Changes

    def change(self, before: Member | None, after: Member | None) -> None:
        """A member came, changed or went."""
        if before is not None and after is not None:
            is_same_set = before.topic_names is after.topic_names
            if is_same_set and before.topic_regex == after.topic_regex:
                return
        if before is not None:
            self._remove(before.topic_names, before.topic_regex)
        if after is not None:
            self._add(after.topic_names, after.topic_regex)

    def _add(self, names: frozenset[str], regex: str | None) -> None:
        self._by_name.update(names)
        self._sets.setdefault(names, names)
        self._set_members[names] += 1
        if regex:
            self._regex_members[regex] += 1

    def _remove(self, names: frozenset[str], regex: str | None) -> None:
        _subtract(self._by_name, names)
        _subtract(self._set_members, (names,))
        if names not in self._set_members:
            self._sets.pop(names, None)
        if regex:
            _subtract(self._regex_members, (regex,))

    def resolve(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """None: the expression is forgotten."""
        before = self.resolved.pop(regex, NO_TOPICS)
        _subtract(self._by_regex, before.topics)
        if resolved is not None:
            self.resolved[regex] = resolved
            self._by_regex.update(resolved.topics)

    def names_after(
        self,
        *,
        leaving: Iterable[Member] = (),
        joining: Iterable[Member] = (),
        resolved: Mapping[str, ResolvedRegex | None] | None = None,
    ) -> set[str] | None:
        """All topics after a change that is not made yet; None if they stay the same."""
        by_name: Counter[str] = Counter()
        by_regex: Counter[str] = Counter()
        for member in leaving:
            by_name.subtract(member.topic_names)
        for member in joining:
            by_name.update(member.topic_names)
        for regex, found in (resolved or {}).items():
            by_regex.subtract(self.resolved.get(regex, NO_TOPICS).topics)
            by_regex.update((found or NO_TOPICS).topics)
        added, removed = [], []
        for topic in sorted({*by_name, *by_regex}):
            is_named = self._by_name[topic] + by_name[topic] > 0
            if is_named or self._by_regex[topic] + by_regex[topic] > 0:
                if topic not in self:
                    added.append(topic)
            elif topic in self:
                removed.append(topic)
        if not added and not removed:
            return None
        return self.names.union(added).difference(removed)


def _subtract(counter: Counter, keys: Iterable) -> None:  # type: ignore[type-arg]
    for key in keys:
        counter[key] -= 1
        if counter[key] <= 0:
            del counter[key]
