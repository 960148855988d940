"""Incremental fetch sessions (KIP-227): a consumer names its partitions once, not in every fetch.

No I/O and no clock: the caller says what time it is.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import TYPE_CHECKING

from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.change_journal import ChangeJournal
    from broker.partition import Partition

_FINAL_EPOCH = -1
_INITIAL_EPOCH = 0
_EPOCH_MAX = 2**31 - 1

_TARGETS_MAX = 1_000_000
"""Partitions that all sessions remember together, each in some 400 bytes."""

TargetKey = tuple[str | bytes, int]


@dataclass(slots=True)
class FetchTarget:
    """One partition that a consumer reads, and what it was told of it last."""

    topic: str
    topic_id: bytes
    index: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int = -1  # of a follower's own log
    told_high_watermark: int = -1
    told_log_start: int = -1
    partition: Partition | None = None
    """Where it was found last. It is still the one as long as it leads."""

    def is_news(self, answer: m.FetchResponsePartitionData) -> bool:
        """Whether an incremental response has to mention this partition."""
        news = bool(
            answer.error_code
            or answer.records
            or answer.high_watermark != self.told_high_watermark
            or answer.log_start_offset != self.told_log_start
            or answer.diverging_epoch is not None
        )
        # An error is repeated until it is gone, and its end is news as well.
        failed = answer.error_code != 0
        self.told_high_watermark = -1 if failed else answer.high_watermark
        self.told_log_start = -1 if failed else answer.log_start_offset
        return news


@dataclass(slots=True)
class FetchSession:
    """`session_id` 0 is no session: the next fetch names everything again."""

    session_id: int
    by_topic_id: bool
    last_used: float
    epoch: int = 1
    targets: dict[TargetKey, FetchTarget] = field(default_factory=dict)
    counted_targets: int = 0
    """How many of them count for the bound of all sessions together."""
    incremental: bool = False
    named: list[FetchTarget] = field(default_factory=list)
    """The targets that the last request added or changed."""
    looked_through_at: float = -inf
    looks_through: bool = False
    """The next reading is of everything."""
    restless: dict[TargetKey, None] = field(default_factory=dict)
    """Where the last reading of a follower found something."""
    read_up_to: int = -1
    """Of the journal of changes, when a follower's reading began."""

    def told_by_follower(self, now: float, every_s: float) -> Iterable[FetchTarget]:
        """What a follower's request says something new about.

        Where it names nothing it is where it was, and still in step. That is worth a look only
        every so often: a leader of thousands of partitions would do nothing else.
        """
        if not self.incremental or now - self.looked_through_at >= every_s:
            self.looked_through_at = now
            self.looks_through = True
            return self.targets.values()
        return self.named

    def to_read_for_follower(self, journal: ChangeJournal) -> Iterable[FetchTarget]:
        """Where there may be something new, whoever was left out last time first."""
        changed = journal.since(self.read_up_to)
        if self.looks_through or changed is None:
            return self.targets.values()
        keys = dict(self.restless)
        keys.update((self._key(target), None) for target in self.named)
        for each in changed:
            keys[each.topic_id if self.by_topic_id else each.topic, each.index] = None
        return [self.targets[key] for key in keys if key in self.targets]

    def read_for_follower(
        self,
        answers: Iterable[tuple[FetchTarget, m.FetchResponsePartitionData]],
        read_up_to: int,
    ) -> None:
        """What a reading found that began when the journal of changes ended at `read_up_to`."""
        self.looks_through = False
        self.read_up_to = read_up_to
        served: list[TargetKey] = []
        self.restless = {}
        for target, answer in answers:
            key = self._key(target)
            if answer.records:
                served.append(key)
            else:
                self.restless[key] = None
        self.restless.update(dict.fromkeys(served))

    def update(self, request: m.FetchRequest) -> Iterator[None]:
        """Stops after every partition, for requests that name very many."""
        self.named = []
        # One for each partition that is not forgotten, so that `targets` has all of them: a session
        # is bounded by its targets.
        named: dict[TargetKey, FetchTarget] = {}
        for target in _targets_of(request):
            yield
            key = self._key(target)
            known = self.targets.get(key)
            if known is not None:
                target.told_high_watermark = known.told_high_watermark
                target.told_log_start = known.told_log_start
                target.partition = known.partition
            self.targets[key] = named[key] = target
        for topic in request.forgotten_topics_data:
            name: str | bytes = topic.topic_id if self.by_topic_id else topic.topic
            for index in topic.partitions:
                yield
                self.targets.pop((name, index), None)
                named.pop((name, index), None)
        self.named = list(named.values())

    def to_the_back(self, target: FetchTarget) -> None:
        """Whoever was served queues up again, so that a busy partition starves no other."""
        key = self._key(target)
        if self.targets.pop(key, None) is not None:
            self.targets[key] = target

    def _key(self, target: FetchTarget) -> TargetKey:
        return (target.topic_id if self.by_topic_id else target.topic, target.index)


class FetchSessions:
    """All sessions of a node, bounded; the one unused for longest makes room for a new one."""

    def __init__(self, *, slots: int, eviction_s: float, random: Random) -> None:
        self._slots = slots
        self._eviction_s = eviction_s
        self._random = random
        self._sessions: dict[int, FetchSession] = {}  # the least recently used first
        self._target_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: m.FetchRequest, *, by_topic_id: bool, now: float) -> FetchSession:
        """The session to answer in; raises what the consumer must be told instead."""
        steps = self.begin_in_steps(request, by_topic_id=by_topic_id, now=now)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                session: FetchSession = done.value
                return session

    def begin_in_steps(
        self, request: m.FetchRequest, *, by_topic_id: bool, now: float
    ) -> Generator[None, None, FetchSession]:
        """Same as `begin`, for requests that name very many partitions."""
        if request.session_epoch in (_FINAL_EPOCH, _INITIAL_EPOCH):
            self._drop(request.session_id)
            session = FetchSession(0, by_topic_id, now)
            yield from session.update(request)
            if request.session_epoch == _INITIAL_EPOCH:
                self._admit(session, now)
            return session
        found = self._sessions.get(request.session_id)
        if found is None:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"no fetch session {request.session_id}"
            )
        if request.session_epoch != found.epoch:
            raise KafkaError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
                f"fetch session {found.session_id} is at epoch {found.epoch}, "
                f"not {request.session_epoch}",
            )
        if found.by_topic_id != by_topic_id:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
                f"fetch session {found.session_id} does not mix topic names and topic ids",
            )
        found.incremental = True
        found.epoch = 1 if found.epoch == _EPOCH_MAX else found.epoch + 1
        found.last_used = now
        self._sessions[found.session_id] = self._sessions.pop(found.session_id)
        yield from self._update(found, request)
        return found

    def _update(self, session: FetchSession, request: m.FetchRequest) -> Iterator[None]:
        """Raises FETCH_SESSION_ID_NOT_FOUND when the session grows beyond what all may remember.

        The consumer then asks for a new session, and is answered without one: see `_admit`.
        """
        before = len(session.targets)
        is_too_large = False
        try:
            yield from session.update(request)
        finally:
            # Also when the client goes away halfway: it may come back and add more.
            if self._sessions.get(session.session_id) is session:
                self._count(session)
                grew = len(session.targets) > before
                is_too_large = grew and self._target_count > _TARGETS_MAX
                if is_too_large:
                    self._drop(session.session_id)
        if is_too_large:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
                f"fetch session {session.session_id} is dropped: all sessions together remember "
                f"at most {_TARGETS_MAX} partitions",
            )

    def _count(self, session: FetchSession) -> None:
        self._target_count += len(session.targets) - session.counted_targets
        session.counted_targets = len(session.targets)

    def _drop(self, session_id: int) -> None:
        dropped = self._sessions.pop(session_id, None)
        if dropped is not None:
            self._target_count -= dropped.counted_targets

    def _admit(self, session: FetchSession, now: float) -> None:
        """Without a session the consumer names everything each time, and nothing is remembered."""
        if self._target_count + len(session.targets) > _TARGETS_MAX:
            return
        if len(self._sessions) >= self._slots:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now - oldest.last_used < self._eviction_s:
                return
            self._drop(oldest.session_id)
        session_id = self._random.randrange(1, 2**31)
        while session_id in self._sessions:
            session_id = self._random.randrange(1, 2**31)
        session.session_id = session_id
        self._sessions[session_id] = session
        self._count(session)


def _targets_of(request: m.FetchRequest) -> Iterator[FetchTarget]:
    for topic in request.topics:
        for part in topic.partitions:
            yield FetchTarget(
                topic=topic.topic,
                topic_id=topic.topic_id,
                index=part.partition,
                fetch_offset=part.fetch_offset,
                max_bytes=part.partition_max_bytes,
                current_leader_epoch=part.current_leader_epoch,
                last_fetched_epoch=part.last_fetched_epoch,
                log_start_offset=part.log_start_offset,
            )
