"""Consumer groups: committed offsets as registers, and who may own and commit what."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.checker import Checker, of_facts
from checkers.clauses import UNSAFE, never
from checkers.columns import INFO, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.registers import Access, Register, Stale, stale_reads
from checkers.log.words import key_text, value_text, who
from harness.history import kinds

_NEVER = 1 << 62
_ALL_KEYS = -1


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One operation of a group."""

    row: int
    call: int
    outcome: int
    group: str
    generation: int | None
    offsets: tuple[tuple[int, int | None], ...]
    """Key and offset; of ownership, keys without one."""


def group_rows(facts: LogFacts, *names: str) -> Iterator[GroupRow]:
    columns, elements = facts.columns, facts.columns.elements
    for row in np.flatnonzero(columns.has_f(*names) & (columns.outcome > 0)).tolist():
        begin, end = int(facts.begin[row]), int(facts.end[row])
        if begin == end or elements.kind[begin] != kinds.GROUP:
            continue
        generation = int(elements.offset[begin])
        offsets = tuple(
            (
                int(elements.key[one]),
                int(elements.offset[one]) if elements.offset[one] >= 0 else None,
            )
            for one in range(begin + 1, end)
            if elements.key[one] >= 0
        )
        yield GroupRow(
            row,
            int(columns.call[row]),
            int(columns.outcome[row]),
            value_text(columns.value_of(begin)) if elements.told[begin] else "null",
            generation if generation >= 0 else None,
            offsets,
        )


def _known(offset: int) -> int | None:
    return offset if offset >= 0 else None


def _registers(facts: LogFacts) -> tuple[dict[tuple[str, int], Register], int]:
    registers: dict[tuple[str, int], Register] = defaultdict(Register)
    reads = 0
    for told in group_rows(facts, "commit"):
        if told.outcome in (OK, INFO):
            certain = told.outcome == OK
            for key, offset in told.offsets:
                ret = told.row if certain else _NEVER
                write = Access(offset, told.call, ret, certain)
                registers[told.group, key].writes.append(write)
    for told in group_rows(facts, "committed"):
        if told.outcome == OK:
            for key, offset in told.offsets:
                reads += 1
                registers[told.group, key].reads.append(Access(offset, told.call, told.row))
    return registers, reads


def _stale(facts: LogFacts, type_: str, *, lost: bool) -> Findings:
    registers, reads = _registers(facts)
    found: list[Finding] = []
    count = 0
    for (group, key), register in sorted(registers.items()):
        for stale in stale_reads(register):
            if (stale.read.value is None) is lost:
                count += 1
                if len(found) < SHOWN:
                    found.append(_stale_finding(facts, type_, group, key, stale))
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)),
        count=count,
        looked_at=reads,
        nothing="no committed offset was requested",
    )


def _stale_finding(facts: LogFacts, type_: str, group: str, key: int, stale: Stale) -> Finding:
    columns = facts.columns
    read, last = stale.read, stale.replaced_by
    rows = {read.ret} | ({last.ret} if last is not None else set())
    name = f"group {group} on {key_text(facts, key)}"
    if last is None:
        earlier = f"no process had committed {read.value} for {name}"
    else:
        earlier = f"{who(facts, last.ret)} committed {last.value} for {name}"
    return Finding(
        type=type_,
        ops=tuple(sorted(columns.index_of(row) for row in rows)),
        because=f"{earlier}, and after that {who(facts, read.ret)} found "
        f"{'nothing' if read.value is None else read.value}",
        witness={
            "key": columns.key_of(key),
            "group": group,
            "found": read.value,
            "committed": None if last is None else last.value,
        },
    )


def commit_regressions(facts: LogFacts) -> Findings:
    """A committed offset that another had replaced, or that nobody committed, is found again."""
    return _stale(facts, "commit-regression", lost=False)


def lost_commits(facts: LogFacts) -> Findings:
    """An acknowledged commit, and after it none is found."""
    return _stale(facts, "lost-commit", lost=True)


def _subscriptions(facts: LogFacts) -> Iterator[tuple[int, dict[str, Any]]]:
    """Process and value of each subscription that names its group."""
    columns, elements = facts.columns, facts.columns.elements
    for row in np.flatnonzero(columns.has_f("subscribe")).tolist():
        for element in range(int(facts.begin[row]), int(facts.end[row])):
            value = columns.value_of(element) if elements.kind[element] == kinds.VALUE else None
            if isinstance(value, dict) and "group" in value:
                yield columns.process_of(row), value


def _with_member_epochs(facts: LogFacts) -> frozenset[str]:
    """Groups of the new protocol (KIP-848)."""
    return frozenset(
        value_text(value["group"])
        for _, value in _subscriptions(facts)
        if value.get("strategy") == "consumer"
    )


def _static_members(facts: LogFacts) -> dict[int, str]:
    """By process: the static member that it is (group.instance.id)."""
    return {
        process: value["instance"]
        for process, value in _subscriptions(facts)
        if value.get("instance") is not None
    }


def zombie_commits(facts: LogFacts) -> Findings:
    """A commit is acknowledged, begun after a later generation was seen at work.

    Members of a classic group share one generation. In a group of the new protocol each member has
    an epoch of its own, and an earlier one than another's may be current; there a commit is a
    zombie's if the partition had been assigned to another member in a later epoch.
    """
    by_epochs = _with_member_epochs(facts)
    newest: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    commits = []
    is_commit = facts.columns.has_f("commit")
    for told in group_rows(facts, "commit", "assigned"):
        if told.generation is None or told.outcome != OK:
            continue
        for key in _disputed(told, by_epochs):
            best = newest[told.group, key]
            seen = told.group not in by_epochs or not is_commit[told.row]
            if seen and (not best or told.generation > best[-1][1]):
                best.append((told.row, told.generation))
        if is_commit[told.row]:
            commits.append(told)
    found = []
    for told in commits:
        assert told.generation is not None
        later = [
            first
            for key in _disputed(told, by_epochs)
            if (first := _first_later(newest[told.group, key], told.generation)) is not None
        ]
        if later and min(later)[0] < told.call:
            found.append((min(later)[0], told, min(later)[1]))
    return Findings(
        found=tuple(_zombie(facts, *item) for item in found[:SHOWN]),
        count=len(found),
        looked_at=len(commits),
        nothing="no commit names its generation",
    )


def _disputed(told: GroupRow, by_epochs: frozenset[str]) -> Iterator[int]:
    """What a later generation makes a commit a zombie's of: single partitions, or the group."""
    if told.group in by_epochs:
        yield from (key for key, _ in told.offsets)
    else:
        yield _ALL_KEYS


def _first_later(seen: list[tuple[int, int]], generation: int) -> tuple[int, int] | None:
    """Rows and generations rise together, so the first that is newer is the earliest."""
    at = bisect_right(seen, generation, key=lambda one: one[1])
    return seen[at] if at < len(seen) else None


def _zombie(facts: LogFacts, row: int, told: GroupRow, generation: int) -> Finding:
    columns = facts.columns
    return Finding(
        type="zombie-commit",
        ops=(columns.index_of(row), columns.index_of(told.row)),
        because=f"{who(facts, row)} was in generation {generation} of group {told.group}, and "
        f"after that a commit of {who(facts, told.row)} in generation {told.generation} was "
        "accepted",
        witness={"group": told.group, "generations": [generation, told.generation]},
    )


def two_owners(facts: LogFacts) -> Findings:
    """Two members hold one partition at once in one generation of their group.

    A static member that comes back takes over what its earlier process held, without a new
    generation: the two are one member.
    """
    columns = facts.columns
    static = _static_members(facts)
    gives = columns.has_f("assigned")
    holders: dict[tuple[str, int, int], tuple[int, int]] = {}
    found: list[tuple[int, int, str, int, int]] = []
    looked_at = 0
    for told in group_rows(facts, "assigned", "revoked", "lost"):
        process = columns.process_of(told.row)
        for key, _ in told.offsets:
            if not gives[told.row]:
                for at in [at for at in holders if at[0] == told.group and at[2] == key]:
                    if holders[at][0] == process:
                        del holders[at]
                continue
            if told.generation is None:
                continue
            looked_at += 1
            at = (told.group, told.generation, key)
            holder = holders.get(at)
            is_other = holder is not None and static.get(holder[0], holder[0]) != static.get(
                process, process
            )
            if holder is not None and is_other:
                found.append((holder[1], told.row, told.group, told.generation, key))
            holders[at] = (process, told.row)
    return Findings(
        found=tuple(_two_owners(facts, *item) for item in found[:SHOWN]),
        count=len(found),
        looked_at=looked_at,
        nothing="no assignment names its generation",
    )


def _two_owners(
    facts: LogFacts, one: int, other: int, group: str, generation: int, key: int
) -> Finding:
    columns = facts.columns
    witness: dict[str, Any] = {
        "group": group,
        "generation": generation,
        "key": columns.key_of(key),
    }
    return Finding(
        type="two-owners",
        ops=(columns.index_of(one), columns.index_of(other)),
        because=(
            f"in generation {generation} of group {group}, both {who(facts, one)} and "
            f"{who(facts, other)} were assigned {key_text(facts, key)}"
        ),
        witness=witness,
    )


CHECKERS = (
    Checker(
        name="commit-regression",
        about="A fetch of the committed offset returned one that had been replaced.",
        look=of_facts(commit_regressions),
        rows=(
            UNSAFE,
            never("A group's committed offset is the last one that was committed."),
        ),
        model="kafka",
    ),
    Checker(
        name="lost-commit",
        about="A committed offset is missing.",
        look=of_facts(lost_commits),
        rows=(
            UNSAFE,
            never("A fetch of the committed offset returns an acknowledged commit."),
        ),
        model="kafka",
    ),
    Checker(
        name="zombie-commit",
        about="A commit of an older generation was accepted.",
        look=of_facts(zombie_commits),
        rows=(never("A member of an older generation cannot commit."),),
        model="kafka",
    ),
    Checker(
        name="two-owners",
        about="Two members own one partition in one generation.",
        look=of_facts(two_owners),
        rows=(never("In one generation a partition belongs to one member."),),
        model="kafka",
    ),
)
