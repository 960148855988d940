"""Registers in which every value is written once: linearizable or not without a search.

Gibbons and Korach's zones, with compare-and-set: a value with all its reads is a cluster, a
successful compare-and-set chains two clusters, a chain is a block. In time, a block must be whole
from its first return to its last call. It is linearizable iff within each chain no later cluster
returned before an earlier one was called, no two blocks that must be whole overlap, and no block
lies inside of one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from checkers.kernels.wgl import CAS, FAILED_CAS, READ
from checkers.linear.calls import Call
from checkers.linear.search import Outcome, Step

_NEVER = 1 << 62
_LEAST = 64
"""Below that a search is as good, and tells more."""


def _makes(step: Step) -> int:
    return step.b if step.kind == CAS else step.a


def unique_writes(steps: Sequence[Step], initial: int) -> bool:
    made = [_makes(step) for step in steps if step.kind != READ]
    return (
        len(steps) >= _LEAST
        and len(set(made)) == len(made)
        and initial not in made
        and not any(step.kind == FAILED_CAS for step in steps)
    )


def _ret(step: Step) -> int:
    return _NEVER if step.call.ret is None else step.call.ret


@dataclass(slots=True)
class _Cluster:
    """A value: its write, or none for the initial one, and its reads."""

    write: Step | None
    first_return: int
    last_call: int
    first: Step | None
    last: Step | None

    def add(self, step: Step) -> None:
        if _ret(step) < self.first_return:
            self.first_return, self.first = _ret(step), step
        if step.call.call > self.last_call:
            self.last_call, self.last = step.call.call, step


def _needed(steps: Sequence[Step]) -> list[Step]:
    """Without writes that may not have happened and whose value nobody needed. The least such set:
    two that need only each other need not be."""
    kept = [step for step in steps if step.call.ret is not None]
    unsure = {_makes(step): step for step in steps if step.call.ret is None}
    wanted = [step.a for step in kept if step.kind in (READ, CAS)]
    while wanted:
        step = unsure.pop(wanted.pop(), None)
        if step is not None:
            kept.append(step)
            if step.kind == CAS:
                wanted.append(step.a)
    return kept


def zones(steps: Sequence[Step], initial: int) -> Outcome:
    stuck = _violation(_needed(steps), initial)
    return Outcome(stuck is None, len(steps), stuck)


def _violation(steps: Sequence[Step], initial: int) -> Call | None:
    """The operation at which it shows, if it is not linearizable."""
    clusters = {initial: _Cluster(None, -1, -1, None, None)}
    follows: dict[int, Step] = {}
    for step in steps:
        if step.kind != READ:
            clusters[_makes(step)] = _Cluster(step, _ret(step), step.call.call, step, step)
    for step in steps:
        if step.kind != READ and step.kind != CAS:
            continue
        if step.a not in clusters or (step.kind == CAS and step.a in follows):
            return step.call
        if step.kind == CAS:
            follows[step.a] = step
            continue
        write = clusters[step.a].write
        if write is not None and write.call.call > _ret(step):
            return step.call
        clusters[step.a].add(step)
    return _blocks(clusters, follows)


def _blocks(clusters: dict[int, _Cluster], follows: dict[int, Step]) -> Call | None:
    heads = [
        value
        for value, cluster in clusters.items()
        if cluster.write is None or cluster.write.kind != CAS
    ]
    seen = 0
    blocks: list[tuple[int, int, Step | None]] = []
    for head in heads:
        cluster = clusters[head]
        first, last, at = cluster.first_return, cluster.last_call, cluster.last
        seen += 1
        value = head
        while value in follows:
            value = _makes(follows[value])
            cluster = clusters[value]
            seen += 1
            if last > cluster.first_return:
                assert cluster.first is not None
                return cluster.first.call
            first = min(first, cluster.first_return)
            if cluster.last_call > last:
                last, at = cluster.last_call, cluster.last
        blocks.append((first, last, at))
    if seen < len(clusters):
        # Compare-and-sets in a circle: none of them can be the first.
        lost = next(iter(follows.values()))
        return lost.call
    return _conflict(blocks)


def _conflict(blocks: list[tuple[int, int, Step | None]]) -> Call | None:
    forward = sorted((block for block in blocks if block[0] < block[1]), key=lambda one: one[0])
    for (_, end, _), (begin, _, step) in pairwise(forward):
        if end > begin:
            assert step is not None
            return step.call
    begins = [block[0] for block in forward]
    for first, last, step in blocks:
        if first >= last:
            at = bisect_left(begins, last) - 1
            if at >= 0 and first < forward[at][1]:
                assert step is not None
                return step.call
    return None
