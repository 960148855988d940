"""A small world for the rules of the quorum: nodes, links and disks that fail as a seed decides.

No event loop: a heap of what happens when. The same seed gives the same life.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import NamedTuple

from broker.raft import effects as e
from broker.raft import events as v
from broker.raft.machine import Raft
from broker.raft.member_state import QuorumTimeouts
from broker.raft.roles import Role
from tests.property.raft_ghost import Ghost
from tests.property.raft_mix import Mix
from tests.unit.broker.raft.memory_log import MemoryLog, Record

TIMEOUTS = QuorumTimeouts(election_s=0.2, fetch_s=0.4, backoff_max_s=0.2)
TICK_S = 0.03


class Answer(NamedTuple):
    answer: e.Answer
    records: Sequence[Record]


@dataclass(slots=True)
class Node:
    node_id: int
    raft: Raft
    log: MemoryLog = field(default_factory=MemoryLog)
    on_disk: v.QuorumState = field(default_factory=v.QuorumState)
    life: int = 0
    is_up: bool = True
    paused_until: float = 0.0
    high_watermark: int = 0
    fetching: v.FetchPosition | None = None
    flushing: bool = False
    fetched: Sequence[Record] = ()
    replies: dict[int, Callable[[e.Answer], None]] = field(default_factory=dict)


class World:
    def __init__(self, seed: int, make: type[Raft] = Raft) -> None:
        self.random = Random(seed)
        self.mix = Mix.draw(self.random)
        self.make = make
        self.now = 0.0
        self.voters = tuple(range(1, self.mix.voter_count + 1))
        self.ghost = Ghost(self.voters)
        self.seen = self.ghost.seen
        self.healed = False
        self.cut: dict[tuple[int, int], float] = {}
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = count(1)
        every = self.mix.voter_count + self.mix.observer_count
        self.nodes = {n: self._born(n) for n in range(1, every + 1)}
        for node in self.nodes.values():
            self._tick(node)

    def _born(self, node_id: int) -> Node:
        log, state = MemoryLog(), v.QuorumState()
        return Node(node_id, self._raft(node_id, state, log), log, state)

    def _raft(self, node_id: int, state: v.QuorumState, log: MemoryLog) -> Raft:
        return self.make(node_id, self.voters, state, log, TIMEOUTS, self.random.random, self.now)

    # Time

    def run(self, until: float, is_done: Callable[[], bool] = lambda: False) -> None:
        while self._due and self._due[0][0] <= until and not is_done():
            self.now, _, act = heappop(self._due)
            act()

    def at(self, time: float, act: Callable[[], None]) -> None:
        heappush(self._due, (time, next(self._serial), act))

    def later(self, node: Node, wait_s: float, act: Callable[[], None]) -> None:
        """In this life of the node, and not while it is paused."""
        life = node.life

        def wake() -> None:
            if node.life == life and node.is_up:
                if node.paused_until > self.now:
                    self.at(node.paused_until, wake)
                else:
                    act()

        self.at(self.now + wait_s, wake)

    def _tick(self, node: Node) -> None:
        """What a shell does by itself: timers, fetches; and what befalls its node."""
        if not self.healed:
            self._befall(node)
        if not node.is_up:
            return
        if self.now >= node.raft.wake_at:
            self.step(node, v.TimePassed())
        if self.healed or self.random.random() < self.mix.append_rate:
            self.append(node)
        self._fetch(node)
        self.later(node, TICK_S * (0.5 + self.random.random()), lambda: self._tick(node))

    def chance(self, probability: float) -> bool:
        return not self.healed and probability > 0 and self.random.random() < probability

    # Faults

    def _befall(self, node: Node) -> None:
        random, mix = self.random, self.mix
        leads = node.raft.role is Role.LEADER
        if self.chance(mix.crash_rate) or (leads and self.chance(mix.leader_crash_rate)):
            self.crash(node)
        elif leads and self.chance(mix.make_way_rate):
            self.step(node, v.MakeWay())
            self.seen["leaders that made way"] += 1
        elif self.chance(mix.pause_rate):
            node.paused_until = self.now + random.random() * 3 * TIMEOUTS.fetch_s
            self.seen["pauses"] += 1
        elif self.chance(mix.cut_rate):
            until = self.now + random.random() * 5 * TIMEOUTS.fetch_s
            one_way = random.random() < 0.3
            for other in self.nodes:
                if random.random() < 0.7:
                    self.cut[node.node_id, other] = until
                    if not one_way:
                        self.cut[other, node.node_id] = until
            self.seen["cuts"] += 1
        elif self.chance(mix.snapshot_rate):
            end_offset = min(node.high_watermark, node.log.flushed_offset)
            if end_offset > node.log.start_offset:
                node.log.take_snapshot(end_offset)
                self.seen["snapshots taken"] += 1

    def crash(self, node: Node) -> None:
        node.life += 1
        node.is_up = False
        lost = node.log.end_offset - node.log.flushed_offset
        lucky = self.random.randint(0, lost) if self.mix.luck else 0
        node.log.crash(lucky_count=lucky)
        self.seen["crashes"] += 1
        self.seen["records lost in crashes"] += lost - lucky
        life = node.life
        wait_s = self.random.random() * self.mix.restart_s_max
        if self.mix.rotation:
            wait_s = 10 * TIMEOUTS.fetch_s
            for other in self.nodes.values():
                if other is not node:
                    self.start(other)
        self.at(self.now + wait_s, lambda: self.start(node) if node.life == life else None)

    def start(self, node: Node) -> None:
        if node.is_up:
            return
        node.is_up = True
        node.life += 1
        node.fetching, node.flushing = None, False
        node.replies = {}
        node.raft = self._raft(node.node_id, node.on_disk, node.log)
        node.high_watermark = node.raft.high_watermark
        self._tick(node)

    def heal(self) -> None:
        self.healed = True
        self.cut = {}
        for node in self.nodes.values():
            node.paused_until = 0.0
            self.start(node)

    def agrees_beyond(self, offset: int) -> bool:
        """Every member has seen something committed that lies behind `offset`."""
        return min(node.high_watermark for node in self.nodes.values()) > offset

    def describe(self) -> str:
        return "; ".join(
            f"n{node.node_id} {node.raft.role.value} in epoch {node.raft.epoch}, "
            f"log ends at {node.log.end_offset}, committed {node.high_watermark}"
            for node in self.nodes.values()
        )

    def crashes_here(self, node: Node, point: type) -> bool:
        if self.mix.rotation and node.raft.role is not Role.LEADER:
            return False
        if self.chance(self.mix.crash_at.get(point, 0)):
            self.seen[f"crashes at {point.__name__}"] += 1
            self.crash(node)
            return True
        return False

    # The shell

    def step(self, node: Node, event: v.Event) -> None:
        for effect in node.raft.step(event, self.now):
            if self.crashes_here(node, type(effect)):
                return
            self._carry_out(node, effect)
            if self.crashes_here(node, type(effect)):
                return

    def _carry_out(self, node: Node, effect: e.Effect) -> None:
        match effect:
            case e.Persist(state):
                node.on_disk = state
            case e.RoleChanged(role, epoch):
                node.fetching = None
                if role is Role.LEADER:
                    self.ghost.leads(node.node_id, epoch, node.log)
            case e.Reply(token, answer):
                node.replies.pop(token)(answer)
            case e.AskVote():
                self._ask_vote(node, effect)
            case e.AnnounceLeader(to, epoch):
                self._announce(node, to, lambda t: v.BeginEpochRequested(t, epoch, node.node_id))
            case e.AnnounceEnd(to, epoch, line):
                self._announce(
                    node, to, lambda t: v.EndEpochRequested(t, epoch, node.node_id, line)
                )
            case e.AppendLeaderChange(epoch):
                self._write(node, [Record(epoch, f"n{node.node_id} leads {epoch}")])
            case e.TruncateTo(offset):
                self.ghost.truncates(offset, node.log.end_offset, node.high_watermark)
                node.log.truncate_to(offset)
            case e.AppendFetched(base_offset):
                assert base_offset == node.log.end_offset
                self._write(node, node.fetched)
            case e.FetchSnapshot(source):
                self._fetch_snapshot(node, source)
            case e.InstallSnapshot(snapshot_id):
                self.ghost.starts_over(snapshot_id.end_offset, node.high_watermark)
                node.log.install_snapshot(snapshot_id)
                self.seen["snapshots installed"] += 1
            case e.HighWatermarkAdvanced(offset):
                self._commit(node, offset)

    def _commit(self, node: Node, offset: int) -> None:
        leads = node.raft.role is Role.LEADER
        voters = [self.nodes[voter].log for voter in self.voters] if leads else None
        self.ghost.commits(
            node.node_id, node.raft.epoch, node.log, node.high_watermark, offset, voters
        )
        node.high_watermark = offset

    def append(self, node: Node) -> None:
        if node.is_up and node.raft.accepts_appends:
            self._write(node, [Record(node.raft.epoch, f"value {next(self._serial)}")])

    def _write(self, node: Node, records: Sequence[Record]) -> None:
        base_offset = node.log.end_offset
        node.log.append(records)
        self.ghost.writes(node.node_id, node.log, base_offset)
        if not node.flushing:
            node.flushing = True
            wait_s = 0.0 if self.healed else self.random.random() * self.mix.flush_s_max
            self.later(node, wait_s, lambda: self._flush(node))

    def _flush(self, node: Node) -> None:
        node.flushing = False
        if self.crashes_here(node, v.LogFlushed):
            return
        node.log.flush()
        if not self.crashes_here(node, v.LogFlushed):
            self.step(node, v.LogFlushed())

    # Messages

    def send(self, sender: int, to: int, arrive: Callable[[Node], None]) -> None:
        copies = 1 + self.chance(self.mix.duplication)
        for _ in range(copies):
            if self.chance(self.mix.loss):
                continue
            delay_s = 0.005 if self.healed else self.random.random() * self.mix.delay_s_max
            self.at(self.now + delay_s, lambda: self._arrive(sender, to, arrive))

    def _arrive(self, sender: int, to: int, arrive: Callable[[Node], None]) -> None:
        node = self.nodes[to]
        if node.is_up and self.cut.get((sender, to), 0.0) <= self.now:
            self.later(node, 0.0, lambda: arrive(node))

    def _ask(
        self,
        sender: Node,
        to: int,
        request: Callable[[int], v.Event],
        answered: Callable[[Node, Answer], None],
        said: Callable[[e.Answer], Sequence[Record]] = lambda _: (),
    ) -> None:
        """`said` happens where the answer is given, `answered` where it arrives.

        The answer returns to the life that asked: a connection does not outlive its node.
        """
        life = sender.life

        def back(answer: e.Answer) -> None:
            both = Answer(answer, said(answer))

            def arrive(node: Node) -> None:
                if node.life == life:
                    answered(node, both)

            self.send(to, sender.node_id, arrive)

        def arrive(node: Node) -> None:
            token = next(self._serial)
            node.replies[token] = back
            self.step(node, request(token))

        self.send(sender.node_id, to, arrive)

    def _ask_vote(self, node: Node, ask: e.AskVote) -> None:
        me = node.node_id

        def request(token: int) -> v.Event:
            return v.VoteRequested(
                token, me, ask.epoch, ask.last_epoch, ask.last_offset, ask.is_pre_vote
            )

        def said(answer: e.Answer) -> Sequence[Record]:
            assert isinstance(answer, v.VoteAnswer)
            if answer.granted and not ask.is_pre_vote:
                self.ghost.votes(ask.to, ask.epoch, me)
            return ()

        def answered(node: Node, got: Answer) -> None:
            assert isinstance(got.answer, v.VoteAnswer)
            self.step(node, v.VoteAnswered(ask.to, ask.epoch, ask.is_pre_vote, got.answer))

        if not ask.is_pre_vote:
            self.ghost.votes(me, ask.epoch, me)
        self._ask(node, ask.to, request, answered, said)

    def _announce(self, node: Node, to: int, request: Callable[[int], v.Event]) -> None:
        def answered(node: Node, got: Answer) -> None:
            assert isinstance(got.answer, v.EpochAnswer)
            self.step(node, v.BeginEpochAnswered(to, got.answer))

        self._ask(node, to, request, answered)

    def _fetch(self, node: Node) -> None:
        asked = node.raft.fetch_position if node.is_up else None
        if asked is None or node.fetching is not None:
            return
        node.fetching = asked
        if not self.nodes[asked.to].is_up and self.random.random() < 0.5:
            self.later(node, 0.005, lambda: self._fetch_failed(node, asked, refused=True))
            return

        def said(answer: e.Answer) -> Sequence[Record]:
            assert isinstance(answer, v.FetchAnswer)
            if answer.error or answer.diverging or answer.snapshot_id:
                return ()
            return self.nodes[asked.to].log.read(asked.offset, self.mix.records_per_fetch)

        def answered(node: Node, got: Answer) -> None:
            assert isinstance(got.answer, v.FetchAnswer)
            if node.fetching is asked:
                node.fetching = None
            node.fetched = got.records
            self.step(node, v.FetchAnswered(asked, got.answer, bool(got.records)))
            if got.records:
                self._fetch(node)

        def request(token: int) -> v.Event:
            return v.FetchRequested(
                token, node.node_id, asked.epoch, asked.offset, asked.last_epoch
            )

        self._ask(node, asked.to, request, answered, said)
        self.later(node, TIMEOUTS.fetch_s, lambda: self._fetch_failed(node, asked, refused=False))

    def _fetch_failed(self, node: Node, asked: v.FetchPosition, *, refused: bool) -> None:
        if node.fetching is asked:
            node.fetching = None
            self.step(node, v.FetchFailed(asked, refused))

    def _fetch_snapshot(self, node: Node, source: v.SnapshotSource) -> None:
        def answered(node: Node, got: Answer) -> None:
            assert isinstance(got.answer, v.EpochAnswer)
            if got.answer.error:
                self.step(node, v.SnapshotFailed(source))
                return
            self.step(node, v.SnapshotProgressed(source))
            wait_s = self.random.random() * TIMEOUTS.fetch_s
            self.later(node, wait_s, lambda: self.step(node, v.SnapshotFetched(source)))

        self._ask(
            node,
            source.leader_id,
            lambda token: v.SnapshotRequested(token, node.node_id, source.epoch),
            answered,
        )
        self.later(node, 2 * TIMEOUTS.fetch_s, lambda: self.step(node, v.SnapshotFailed(source)))
