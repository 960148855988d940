"""Findings grouped by cause, as data: the same records, and the same change of leader.

One loss is found by several checkers: each record is a lost-write, its partition is unseen, and
polls skip over the gap. Findings are of one cause if they are about the same partition and either
the same change of leader or records that overlap. reports/stories.py puts a cause into words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checkers.verdict import Anomaly
from reports.faults import Band
from reports.leading import Change, log_of

LOSSES = frozenset(("lost-append", "lost-put", "lost-write", "torn-transaction", "unseen"))
"""Types of findings that say that an acknowledged record is gone."""
_ONE_RECORD_EACH = frozenset(("lost-append", "lost-put", "lost-write"))
"""Types of losses with one finding for each record that is gone."""
_SKIPS = frozenset(("int-poll-skip", "poll-skip"))
"""Types of findings whose two offsets were polled; what is missing lies between them."""


@dataclass(frozen=True, slots=True)
class Records:
    """The records that a finding is about. Offsets are inclusive; -1 where none is known."""

    key: str
    low: int = -1
    high: int = -1
    values: frozenset[str] = frozenset()
    """As JSON."""

    def overlaps(self, other: Records) -> bool:
        if self.key != other.key:
            return False
        if self.values & other.values:
            return True
        # Neighbours count: a log that lost offsets 4 and 5 lost them at once.
        is_known = self.low >= 0 and other.low >= 0
        return is_known and self.low <= other.high + 1 and other.low <= self.high + 1

    def joined(self, other: Records) -> Records:
        known = [each for each in (self, other) if each.low >= 0]
        return Records(
            self.key,
            min((each.low for each in known), default=-1),
            max((each.high for each in known), default=-1),
            self.values | other.values,
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding with its place in the run, as far as that is known."""

    anomaly: Anomaly
    at_ns: int | None = None
    """When its first operation ended."""
    change: Change | None = None
    """The change of leader after which its records were missing."""
    fault: Band | None = None
    """The fault behind the change of leader, or in force when the records were acknowledged."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Acknowledged records of one partition that are gone, lost by one change of leader."""

    change: Change
    count: int
    low: int
    high: int
    """The lowest and the highest of their offsets."""
    is_all: bool = True
    """Whether the history shows all of them; otherwise there may be more."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings of one cause."""

    findings: tuple[Placed, ...]
    records: Records | None = None
    """None where the findings name no partition or no record of it."""
    change: Change | None = None
    fault: Band | None = None
    lost: int = 0
    """How many acknowledged records are gone."""
    lost_from: int = -1
    """The lowest offset of a record that is known to be gone; -1 if none is known."""
    lost_to: int = -1
    """The highest one; -1 unless the offsets of all that are gone are known."""
    is_all: bool = True
    """Whether `lost` counts all of them; checkers keep only the first findings of each type."""
    more: tuple[Loss, ...] = ()
    """Other losses of the partition, of which no finding was kept."""
    count: int = 0
    """How many findings there are, with those that were not kept, as far as that is known."""

    @property
    def types(self) -> tuple[str, ...]:
        """Types of the findings, those that say that records are gone first."""
        found = dict.fromkeys(each.anomaly.type for each in self.findings)
        return tuple(sorted(found, key=lambda type_: (type_ not in LOSSES, type_)))


def causes(
    placed: Sequence[Placed], counts: Mapping[str, int], losses: Iterable[Loss] = ()
) -> list[Cause]:
    """`counts`: by type, how many findings there are, of which only the first few are kept.

    `losses`: what the history shows of the partitions' losses (reports/losses.py). Losses come
    first, the largest before the others; then in the order of the findings.
    """
    groups: list[Cause] = []
    # A finding with a change of leader is decided by it. One without joins whatever it overlaps.
    for each in sorted(placed, key=lambda one: one.change is None):
        groups = _with(groups, each)
    lossy = [group.records.key for group in groups if _is_loss(group) and group.records]
    counted = [
        _counted(group, counts, is_only=group.records is None or lossy.count(group.records.key) < 2)
        for group in groups
    ]
    counted = _with_losses(counted, losses)
    kept = Counter(each.anomaly.type for each in placed)
    counted = [replace(group, count=_count(group, counts, kept)) for group in counted]
    order = {id(each.anomaly): number for number, each in enumerate(placed)}
    in_order = [
        replace(
            group, findings=tuple(sorted(group.findings, key=lambda one: order[id(one.anomaly)]))
        )
        for group in counted
    ]
    return sorted(in_order, key=lambda each: (-each.lost, order[id(each.findings[0].anomaly)]))


def records_of(anomaly: Anomaly) -> Records | None:
    """The records that a witness names; None if it names no partition or no record."""
    witness = anomaly.witness
    key, values = witness.get("key"), list(_listed(witness, "value", "values", "messages"))
    keys = witness.get("keys")
    if key is None and isinstance(keys, list) and keys and "missing" in witness:
        # A torn transaction: what is missing is of the last key.
        key, values = keys[-1], [witness["missing"]]
    if key is None or isinstance(key, list | dict):
        return None
    offsets = [each for each in _listed(witness, "offset", "offsets") if type(each) is int]
    put = witness.get("put")
    if isinstance(put, list) and len(put) == 2 and type(put[0]) is int:
        offsets, values = [put[0]], [put[1]]
    low, high = min(offsets, default=-1), max(offsets, default=-1)
    if anomaly.type in _SKIPS and high - low > 1:
        # The two polled records are there; those between them are not.
        low, high, values = low + 1, high - 1, list(_listed(witness, "skipped"))
    if low < 0 and not values:
        return None
    return Records(log_of(str(key)), low, high, frozenset(map(_text, values)))


def _listed(witness: Mapping[str, Any], *names: str) -> Iterator[Any]:
    for name in names:
        value = witness.get(name)
        yield from value if isinstance(value, list) else () if value is None else (value,)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _with(groups: list[Cause], placed: Placed) -> list[Cause]:
    records = records_of(placed.anomaly)
    new = Cause((placed,), records, placed.change, placed.fault)
    joins = [group for group in groups if _is_same(group, new)]
    others = [group for group in groups if not _is_same(group, new)]
    changes = {each.change for each in joins} - {None}
    if len(changes) > 1:
        # It is about several losses, as an unseen of a partition may be; the first one has it.
        first = min(joins, key=_changed_ns)
        others += [group for group in joins if group is not first]
        joins = [first]
    for group in joins:
        new = _joined(group, new)
    return [*others, new]


def _changed_ns(cause: Cause) -> float:
    return float("inf") if cause.change is None else cause.change.time_ns


def _is_same(group: Cause, new: Cause) -> bool:
    if group.records is None or new.records is None:
        one, other = group.findings[0].anomaly, new.findings[0].anomaly
        is_nowhere = group.records is new.records
        return is_nowhere and one.type == other.type
    if group.change is not None and new.change is not None:
        return group.change == new.change
    return group.records.overlaps(new.records)


def _joined(group: Cause, new: Cause) -> Cause:
    records = group.records
    if records is not None and new.records is not None:
        records = records.joined(new.records)
    return Cause(
        (*group.findings, *new.findings),
        records,
        group.change or new.change,
        group.fault or new.fault,
    )


def _is_loss(group: Cause) -> bool:
    return any(each.anomaly.type in LOSSES for each in group.findings)


def _counted(group: Cause, counts: Mapping[str, int], *, is_only: bool) -> Cause:
    """`is_only`: whether no other cause lost records of this partition."""
    anomalies = [each.anomaly for each in group.findings]
    lost = [found for each in anomalies if each.type in LOSSES and (found := records_of(each))]
    if not lost:
        return group
    kept = len(frozenset[str]().union(*(each.values for each in lost)))
    told = [each.witness.get("unseen") for each in anomalies if each.type == "unseen"]
    unseen = max((count for count in told if type(count) is int), default=0)
    are_kept = _are_all_kept(anomalies, counts)
    count = max(kept, unseen if is_only else 0)
    offsets = [each for found in lost if found.low >= 0 for each in (found.low, found.high)]
    return replace(
        group,
        lost=count,
        lost_from=min(offsets, default=-1),
        lost_to=max(offsets) if offsets and are_kept and count == kept else -1,
        is_all=are_kept or (is_only and unseen >= kept),
    )


def _are_all_kept(anomalies: Iterable[Anomaly], counts: Mapping[str, int]) -> bool:
    """Whether a type's findings are all in this group, so that its records are counted."""
    own = Counter(each.type for each in anomalies if each.type in _ONE_RECORD_EACH)
    return any(counts.get(type_, 0) == count for type_, count in own.items())


def _with_losses(groups: Sequence[Cause], losses: Iterable[Loss]) -> list[Cause]:
    """Each loss counts for the cause with its change of leader; or else for the partition's first.

    Checkers keep only the first findings, so of a later change of leader there may be none.
    """
    found = list(groups)
    for loss in losses:
        own = [at for at, each in enumerate(found) if each.change == loss.change]
        of_key = [at for at, each in enumerate(found) if each.lost and _is_of(each, loss)]
        if own:
            group = found[own[0]]
            if loss.count >= group.lost or loss.is_all:
                found[own[0]] = replace(
                    group, lost=loss.count, lost_from=loss.low, lost_to=loss.high,
                    is_all=loss.is_all,
                )  # fmt: skip
        elif of_key:
            group = found[of_key[0]]
            found[of_key[0]] = replace(group, more=(*group.more, loss))
    return found


def _is_of(cause: Cause, loss: Loss) -> bool:
    return cause.records is not None and cause.records.key == loss.change.key


def _count(group: Cause, counts: Mapping[str, int], kept: Mapping[str, int]) -> int:
    own = Counter(each.anomaly.type for each in group.findings)
    return sum(
        counts.get(type_, count) if count == kept[type_] else count for type_, count in own.items()
    )
