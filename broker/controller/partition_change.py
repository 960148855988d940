"""The one place where the next state of a partition is made.

The leader is taken from the ISR, in the order of the replicas; from the eligible leader replicas
(ELR) when nobody is in sync; and from the others only when the topic allows what that may lose.

A replica that leaves an ISR which is, or falls, below min.insync.replicas becomes eligible: the
high watermark stands still below that number, so the replica misses nothing that is committed
(KIP-966). It stays eligible until the ISR is large enough again, or until it comes back without
having been shut down cleanly, because then it may have lost the end of its log.

The partition epoch counts every change. The leader epoch counts up when the leader changes, to
nobody too, and when a replica is taken off the list, so that its late fetches are fenced. It does
not count up when the ISR shrinks: the partition and broker epochs fence what is late there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

from broker.controller.topic_rules import TopicRules
from broker.metadata.partition_info import NO_LEADER, RECOVERING, PartitionInfo


class IsActive(Protocol):
    def __call__(self, broker_id: int, directory: bytes | None = None, /) -> bool:
        """Whether a broker may lead and be in an ISR: registered, not fenced, not shutting down,
        and the directory in which its replica lies has not failed."""


class Election(Enum):
    WHEN_NEEDED = auto()
    PREFERRED = auto()  # the first replica, if it is in sync
    UNCLEAN = auto()  # whoever is there, if nobody else can


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Which replicas there are, and which of them come and go."""

    replicas: tuple[int, ...]  # those to be removed come last
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @classmethod
    def of(cls, info: PartitionInfo) -> Assignment:
        return cls(
            replicas=info.replicas, adding=info.adding_replicas, removing=info.removing_replicas
        )

    @property
    def staying(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.removing)


@dataclass(frozen=True, slots=True)
class _Outcome:
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    unclean: bool = False


def first_state(replicas: Sequence[int], is_active: IsActive) -> PartitionInfo | None:
    """A new partition is led by the first replica that is there; None if there is none."""
    isr = tuple(each for each in replicas if is_active(each))
    return PartitionInfo(replicas=tuple(replicas), isr=isr, leader=isr[0]) if isr else None


def next_state(
    old: PartitionInfo,
    rules: TopicRules,
    is_active: IsActive,
    *,
    isr: Collection[int] | None = None,
    assignment: Assignment | None = None,
    unclean_replicas: Collection[int] = (),
    emptied_replicas: Collection[int] = (),
    recovery_state: int | None = None,
    directories: Mapping[int, bytes] | None = None,
    election: Election = Election.WHEN_NEEDED,
) -> PartitionInfo | None:
    """None when nothing changes. What is not given stays, as far as the brokers allow it.

    `unclean_replicas` have stopped without a clean shutdown since they were last counted on, and
    `emptied_replicas` have lost everything: not even as the last leader do they come back.
    """
    unclean_replicas = (*unclean_replicas, *emptied_replicas)
    last_known = tuple(each for each in old.last_known_elr if each not in emptied_replicas)
    target = assignment or Assignment.of(old)
    wanted = old.isr if isr is None else isr
    lies_in = {**dict(old.directories), **(directories or {})}

    def is_there(each: int) -> bool:
        return is_active(each, lies_in.get(each))

    in_sync = tuple(
        each
        for each in target.replicas
        if each in wanted and each not in unclean_replicas and is_there(each)
    )
    if _is_complete(target, in_sync, rules):
        target = Assignment(replicas=target.staying)
        in_sync = tuple(each for each in in_sync if each in target.replicas)
    elr = _eligible(old, target.replicas, in_sync, unclean_replicas, rules)
    outcome = _elect(old, target.replicas, in_sync, elr, last_known, rules, is_there, election)
    state = old.leader_recovery_state if recovery_state is None else recovery_state
    is_fencing = outcome.leader != old.leader or any(
        each not in target.replicas for each in old.replicas
    )
    changed = PartitionInfo(
        replicas=target.replicas,
        isr=outcome.isr,
        leader=outcome.leader,
        leader_epoch=old.leader_epoch + is_fencing,
        partition_epoch=old.partition_epoch,
        elr=outcome.elr,
        last_known_elr=_last_known(old, target.replicas, outcome.leader, emptied_replicas),
        adding_replicas=target.adding,
        removing_replicas=target.removing,
        leader_recovery_state=RECOVERING if outcome.unclean else state,
        directories=tuple((each, lies_in[each]) for each in target.replicas if each in lies_in),
    )
    if changed == old:
        return None
    return replace(changed, partition_epoch=old.partition_epoch + 1)


def _is_complete(target: Assignment, in_sync: Sequence[int], rules: TopicRules) -> bool:
    """A reassignment ends when all that come are in sync, and enough of those who stay."""
    if not target.adding and not target.removing:
        return False
    left = [each for each in target.staying if each in in_sync]
    enough = rules.min_isr_of(len(target.staying))
    return len(left) >= enough and all(each in left for each in target.adding)


def _eligible(
    old: PartitionInfo,
    replicas: Sequence[int],
    isr: Sequence[int],
    unclean_replicas: Collection[int],
    rules: TopicRules,
) -> tuple[int, ...]:
    if len(isr) >= rules.min_isr_of(len(replicas)):
        return ()
    candidates = old.isr
    # An ELR beside an ISR that is large enough is left from a larger min.insync.replicas.
    if len(old.isr) < rules.min_isr_of(len(old.replicas)):
        candidates += old.elr
    return tuple(
        each
        for each in replicas
        if each in candidates and each not in isr and each not in unclean_replicas
    )


def _elect(
    old: PartitionInfo,
    replicas: Sequence[int],
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    last_known: tuple[int, ...],
    rules: TopicRules,
    is_there: Callable[[int], bool],
    election: Election,
) -> _Outcome:
    if isr:
        if election is Election.PREFERRED and replicas[0] in isr:
            return _Outcome(replicas[0], isr, elr)
        return _Outcome(old.leader if old.leader in isr else isr[0], isr, elr)
    min_isr = rules.min_isr_of(len(replicas))
    eligible = next((each for each in elr if is_there(each)), None)
    if eligible is not None:
        others = tuple(each for each in elr if each != eligible) if min_isr > 1 else ()
        return _Outcome(eligible, (eligible,), others)
    may_lose = rules.unclean or election is Election.UNCLEAN
    # Where one copy is enough, the last leader's is as good as any that was ever promised. Kafka 4
    # lets the last leader return everywhere, though it may have lost what it alone had left.
    if may_lose or (not elr and min_isr == 1):
        candidates = last_known + (tuple(replicas) if may_lose else ())
        for each in candidates:
            if each in replicas and is_there(each):
                return _Outcome(each, (each,), (), unclean=True)
    return _Outcome(NO_LEADER, (), elr)


def _last_known(
    old: PartitionInfo, replicas: Sequence[int], leader: int, emptied: Collection[int]
) -> tuple[int, ...]:
    """Whoever led last, while nobody leads."""
    if leader != NO_LEADER:
        return ()
    last = old.last_known_elr if old.leader == NO_LEADER else (old.leader,)
    return tuple(each for each in last if each in replicas and each not in emptied)
