"""A stage for stories about the quorum: its members, what is under way between them, a clock.

Time stands still unless a command moves it. What a member sends waits to be delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from broker.raft import effects as e
from broker.raft import events as v
from broker.raft.errors import RaftError
from broker.raft.machine import Raft
from broker.raft.member_state import QuorumTimeouts
from tests.golden import raft_words as words
from tests.golden.raft_words import name
from tests.unit.broker.raft.memory_log import MemoryLog, Record

TIMEOUTS = QuorumTimeouts(election_s=1, fetch_s=2, backoff_max_s=1)
EVERYTHING = 1000


@dataclass(slots=True)
class Member:
    node_id: int
    log: MemoryLog = field(default_factory=MemoryLog)
    on_disk: v.QuorumState = field(default_factory=v.QuorumState)
    raft: Raft | None = None
    slow_disk: bool = False
    crash_at: str = ""
    fetched: Sequence[Record] = ()
    fetch_count_max: int = EVERYTHING
    replies: dict[int, Callable[[e.Answer], None]] = field(default_factory=dict)

    @property
    def up(self) -> Raft:
        assert self.raft is not None, f"{name(self.node_id)} is down"
        return self.raft


@dataclass(frozen=True, slots=True)
class Message:
    sender: int
    to: int
    arrive: Callable[[Member], None]
    refused: Callable[[Member], None] = lambda sender: None
    """Happens to the sender when nobody listens."""


class Stage:
    def __init__(self) -> None:
        self.now = 0.0
        self.voters: tuple[int, ...] = ()
        self.members: dict[int, Member] = {}
        self.under_way: list[Message] = []
        self.cut_off: list[int] = []
        self.told: list[str] = []
        self._tokens = 0

    def tell(self, node_id: int, what: str) -> None:
        self.told.append(f"{name(node_id)} {what}")

    def start(self, member: Member) -> None:
        node_id = member.node_id
        try:
            # Differs from node to node, so that their patience does.
            member.raft = Raft(
                node_id,
                self.voters,
                member.on_disk,
                member.log,
                TIMEOUTS,
                lambda: node_id / 10,
                self.now,
            )
        except RaftError as problem:
            self.tell(node_id, f"does not start: {problem}")

    def crash(self, member: Member) -> None:
        self.tell(member.node_id, "crashes")
        member.raft = None
        member.crash_at = ""
        member.log.crash()

    def step(self, member: Member, event: v.Event) -> None:
        try:
            effects = member.up.step(event, self.now)
        except RaftError as problem:
            self.tell(member.node_id, f"stops: {problem}")
            member.raft = None
            return
        for effect in effects:
            kind = type(effect).__name__
            if member.crash_at == f"before {kind}":
                self.crash(member)
                return
            self._carry_out(member, effect)
            if member.crash_at == f"after {kind}":
                self.crash(member)
                return
        if member.log.flushed_offset < member.log.end_offset and not member.slow_disk:
            self.flush(member)

    def _carry_out(self, member: Member, effect: e.Effect) -> None:
        me = member.node_id
        match effect:
            case e.Reply(token, answer):
                member.replies.pop(token)(answer)
                return
            case e.AskVote():
                self._ask_vote(member, effect)
                return
            case e.AnnounceLeader(to, epoch):
                self._announce(member, to, epoch)
                return
            case e.AnnounceEnd(to, epoch, line):
                self._announce(member, to, epoch, line)
                return
            case e.FetchSnapshot(source):
                self._ask_snapshot(member, source)
                return
            case e.AppendLeaderChange(epoch):
                self.write(member, [Record(epoch, "leader")])
                return
            case e.AppendFetched(base_offset):
                assert base_offset == member.log.end_offset
                self.write(member, member.fetched)
                return
            case e.Persist(state):
                member.on_disk = state
            case e.TruncateTo(offset):
                member.log.truncate_to(offset)
            case e.InstallSnapshot(snapshot_id):
                member.log.install_snapshot(snapshot_id)
            case e.RoleChanged() | e.HighWatermarkAdvanced():
                pass
        self.tell(me, words.effect(effect))

    def write(self, member: Member, them: Sequence[Record]) -> None:
        self.tell(member.node_id, f"appends {words.records(them)} at {member.log.end_offset}")
        member.log.append(them)

    def flush(self, member: Member) -> None:
        member.log.flush()
        self.step(member, v.LogFlushed())

    # Messages

    def send(self, message: Message, what: str) -> None:
        self.told.append(f"{name(message.sender)} -> {name(message.to)} {what}")
        self.under_way.append(message)

    def deliver(self, message: Message) -> None:
        self.under_way.remove(message)
        member = self.members[message.to]
        if member.raft is None:
            self.told.append(f"(lost: {name(message.to)} is down)")
            if self.members[message.sender].raft is not None:
                message.refused(self.members[message.sender])
        elif message.sender in self.cut_off or message.to in self.cut_off:
            self.told.append(f"(lost: {name(message.sender)} -> {name(message.to)} is cut)")
        else:
            message.arrive(member)

    def ask(
        self,
        sender: int,
        to: int,
        what: str,
        request: Callable[[int], v.Event],
        answered: Callable[[Member, e.Answer, Sequence[Record]], None],
        carried: Callable[[Member, e.Answer], Sequence[Record]] = lambda member, answer: (),
        refused: Callable[[Member], None] = lambda sender: None,
    ) -> None:
        """`carried`: the records that go with the answer."""

        def arrive(member: Member) -> None:
            def reply(answer: e.Answer) -> None:
                them = carried(member, answer)
                back = Message(to, sender, lambda asker: answered(asker, answer, them))
                self.send(back, words.answer(answer, them))

            self._tokens += 1
            member.replies[self._tokens] = reply
            self.step(member, request(self._tokens))

        self.send(Message(sender, to, arrive, refused), what)

    def _ask_vote(self, member: Member, ask: e.AskVote) -> None:
        me = member.node_id

        def answered(asker: Member, answer: e.Answer, _: Sequence[Record]) -> None:
            assert isinstance(answer, v.VoteAnswer)
            self.step(asker, v.VoteAnswered(ask.to, ask.epoch, ask.is_pre_vote, answer))

        self.ask(
            me,
            ask.to,
            words.vote(ask),
            lambda token: v.VoteRequested(
                token, me, ask.epoch, ask.last_epoch, ask.last_offset, ask.is_pre_vote
            ),
            answered,
        )

    def _announce(
        self, member: Member, to: int, epoch: int, line: tuple[int, ...] | None = None
    ) -> None:
        me = member.node_id

        def begun(asker: Member, answer: e.Answer, _: Sequence[Record]) -> None:
            assert isinstance(answer, v.EpochAnswer)
            self.step(asker, v.BeginEpochAnswered(to, answer))

        def ended(asker: Member, answer: e.Answer, _: Sequence[Record]) -> None:
            assert isinstance(answer, v.EpochAnswer)
            self.step(asker, v.EndEpochAnswered(to, answer))

        if line is None:
            what = f"I lead epoch {epoch}"
            self.ask(me, to, what, lambda t: v.BeginEpochRequested(t, epoch, me), begun)
        else:
            what = f"I end epoch {epoch}, after me: {words.names(line)}"
            self.ask(me, to, what, lambda t: v.EndEpochRequested(t, epoch, me, line), ended)

    def ask_fetch(self, member: Member) -> None:
        asked = member.up.fetch_position
        if asked is None:
            self.tell(member.node_id, "has nobody to fetch from")
            return
        position = asked
        me = member.node_id

        def carried(leader: Member, answer: e.Answer) -> Sequence[Record]:
            assert isinstance(answer, v.FetchAnswer)
            if answer.error or answer.diverging or answer.snapshot_id:
                return ()
            return tuple(leader.log.read(position.offset, leader.fetch_count_max))

        def answered(asker: Member, answer: e.Answer, them: Sequence[Record]) -> None:
            assert isinstance(answer, v.FetchAnswer)
            asker.fetched = them
            self.step(asker, v.FetchAnswered(position, answer, bool(them)))

        self.ask(
            me,
            position.to,
            f"fetch from {position.offset} of {position.last_epoch}, epoch {position.epoch}",
            lambda token: v.FetchRequested(
                token, me, position.epoch, position.offset, position.last_epoch
            ),
            answered,
            carried,
            lambda asker: self.step(asker, v.FetchFailed(position, refused=True)),
        )

    def _ask_snapshot(self, member: Member, source: v.SnapshotSource) -> None:
        def answered(asker: Member, answer: e.Answer, _: Sequence[Record]) -> None:
            self.step(
                asker, v.SnapshotFailed(source) if answer.error else v.SnapshotFetched(source)
            )

        self.ask(
            member.node_id,
            source.leader_id,
            f"send me your snapshot {words.snapshot(source.snapshot_id)}",
            lambda token: v.SnapshotRequested(token, member.node_id, source.epoch),
            answered,
        )
