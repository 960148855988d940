"""One node's part in the metadata quorum: carries out what the rules decide, one event at a time.

The rules (broker/raft) know no time, no disk and no network. Here every event goes through one
lock, and its effects are carried out in their order before the next event is looked at: that a
vote is on disk before it is spoken follows from the order alone. A full disk therefore stops this
node's part in the quorum until there is room, and the others go on without it: a leader makes way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from broker.log.log import Log
from broker.log.room import is_lack_of_room
from broker.metadata.changes import Change
from broker.metadata.image import Image
from broker.network.interface import Address, Network
from broker.observe.events import emit
from broker.peers.channel import Channel, UnansweredError
from broker.protocol.errors import KafkaError
from broker.quorum import wire_form
from broker.quorum.insist import insist, lack_of_room
from broker.quorum.metadata_log import TOPIC, MetadataLog
from broker.quorum.quorum_state import QuorumStateFile
from broker.quorum.replay import Replay
from broker.quorum.snapshots import apply_snapshot
from broker.quorum.strangers import Strangers
from broker.raft import effects as do
from broker.raft import events as e
from broker.raft.machine import Raft
from broker.raft.roles import Role
from broker.watchers import EVER, Watchers, wait_for_any

if TYPE_CHECKING:
    from broker.quorum.metadata_puller import MetadataPuller

_log = logging.getLogger(__name__)


class NotLeaderError(Exception):
    """This node does not lead the quorum, or does not any more. What it wrote may be lost."""


class QuorumStoppedError(NotLeaderError):
    """What the rules decided was not carried out to its end: what they say next may not be true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSettings:
    node_id: int
    cluster_id: str
    voters: Mapping[int, Address]
    request_timeout_s: float
    backoff_s: float
    backoff_max_s: float


class Quorum:
    """`start` it once. Anything that its tasks raise goes to `on_fatal`: the node must stop."""

    def __init__(
        self,
        settings: QuorumSettings,
        raft: Raft,
        log: MetadataLog,
        state_file: QuorumStateFile,
        replay: Replay,
        *,
        network: Network,
        random: Random,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self.settings = settings
        self.raft = raft
        self.log = log
        self.replay = replay
        self.changed = Watchers()
        """Woken when the role, the log's end or the high watermark has changed."""

        self.strangers = Strangers(settings.cluster_id, len(settings.voters))
        self.puller: MetadataPuller | None = None
        self.no_room: OSError | None = None
        log.log.on_failure = self._log_failed
        self._state_file = state_file
        self._on_fatal = on_fatal
        self._loop = asyncio.get_running_loop()
        self._stepping = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._stopped_by: BaseException | None = None
        self._token = 0
        self._replies: dict[int, do.Answer | None] = {}  # to those who still wait
        # What the one who follows the leader lays ready before the step that asks for it.
        self.fetched_records: memoryview | None = None
        self.fetched_snapshot: bytes | None = None
        self.wanted_snapshot: e.SnapshotSource | None = None
        self._channels = {
            voter: Channel(
                network,
                address,
                client_id=f"quorum-of-{settings.node_id}",
                random=random,
                backoff_s=settings.backoff_s,
                backoff_max_s=settings.backoff_max_s,
            )
            for voter, address in settings.voters.items()
            if voter != settings.node_id
        }

    def start(self) -> None:
        self.spawn(self.replay.run())
        self.spawn(self._step(e.TimePassed()))
        if self.puller is not None:
            self.spawn(self.puller.run())

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        for channel in self._channels.values():
            channel.close()
        self.log.log.on_failure = None
        try:
            await self.log.close()
        except (OSError, KafkaError) as problem:
            # The next start reads all of it, however it was closed.
            _log.error("the metadata log was not closed cleanly: %s", problem)

    async def resign(self) -> None:
        """Before a stop: the others need not wait for a timeout."""
        await self.step(e.Resign())

    @property
    def leader_id(self) -> int | None:
        return self.raft.leader_id

    @property
    def leads(self) -> bool:
        """Not while it cannot write, unless nobody else could."""
        return (
            self.raft.role is Role.LEADER
            and self._stopped_by is None
            and (self.no_room is None or not self._channels)
        )

    # What the active controller does

    async def commit(self, changes: Sequence[Change], epoch: int) -> int:
        """Appends the changes as one; the offset behind them, once it is committed and applied.

        Raises NotLeaderError: then they may be committed later by another leader, or never.
        Raises KafkaError when nothing was written, and nobody else leads either.
        """
        async with self._stepping:
            self._check_leads(epoch)
            if not self.raft.accepts_appends:
                raise NotLeaderError(f"epoch {epoch} is yet to be opened")
            end = await self._append(changes, epoch)
            self._tell_of_log("append")
            self.changed.wake()
        await self._flush()
        while self.raft.high_watermark < end:
            self._check_leads(epoch)
            await wait_for_any([self.changed], EVER)
        self._check_leads(epoch)
        await self.replay.until(end)
        return end

    async def _append(self, changes: Sequence[Change], epoch: int) -> int:
        """Nobody waits for room here: alone a leader says so at once, among others it makes way."""
        try:
            end = await self.log.append(changes, epoch)
        except KafkaError as refusal:
            problem = lack_of_room(refusal)
            if problem is not None:
                self._tell_of_room(problem)
                self._check_leads(epoch)
            elif isinstance(refusal.__cause__, OSError):
                self._on_fatal(refusal)
            raise
        if self.no_room is not None:
            self._tell_of_room(None)
        return end

    def _check_leads(self, epoch: int) -> None:
        if not self.leads or self.raft.epoch != epoch:
            raise NotLeaderError(f"node {self.settings.node_id} does not lead epoch {epoch}")

    async def _flush(self) -> None:
        await self._insist(self.log.flush)
        await self.step(e.LogFlushed())
        if self.raft.role is not Role.LEADER:
            # Deposed meanwhile: what follows is fetched as soon as all of this is flushed.
            self.changed.wake()

    # Events in, effects out

    async def ask(self, make_event: Callable[[int], e.Event]) -> Any:
        """For an event that came as a request: what the rules reply to it."""
        self._token += 1
        token = self._token
        event, known = make_event(token), self.raft.epoch
        self._replies[token] = None
        try:
            await self.step(event)
        finally:
            answer = self._replies.pop(token)
        assert answer is not None, "the rules reply to every request"
        # A vote says for which epoch it is, and the end of an epoch may open the next one.
        if not answer.error and not isinstance(event, e.VoteRequested | e.EndEpochRequested):
            emit("served", TOPIC, 0, known, getattr(event, "epoch", -1), type(event).__name__)
        return answer

    def stepping(self) -> asyncio.Lock:
        """Held while an event is carried out; `step_locked` is for those who hold it."""
        return self._stepping

    async def step(self, event: e.Event) -> None:
        """To its end, also when the one who asked is gone meanwhile: the rules count on it."""
        await asyncio.shield(self._begin(self._step(event)))

    async def _step(self, event: e.Event) -> None:
        async with self._stepping:
            await self.step_locked(event)

    async def step_locked(self, event: e.Event) -> None:
        if self._stopped_by is not None:
            raise QuorumStoppedError(f"no part in the quorum any more: {self._stopped_by}")
        try:
            for effect in self.raft.step(event, self._loop.time()):
                await self._carry_out(effect)
        except BaseException as problem:
            # The rules count on a vote that may not be on disk, and would speak it next time.
            self._stopped_by = problem
            self.changed.wake()
            raise
        self._set_timer()

    async def _carry_out(self, effect: do.Effect) -> None:
        match effect:
            case do.Persist(state):
                await self._insist(lambda: self._state_file.write(state))
            case do.Reply(token, answer):
                if token in self._replies:
                    self._replies[token] = answer
                if isinstance(answer, e.VoteAnswer) and answer.granted:
                    emit("vote", TOPIC, 0, self.raft.voted_for, self.raft.epoch)
            case do.AskVote() | do.AnnounceLeader() | do.AnnounceEnd():
                self.spawn(self._tell(effect))
            case do.AppendLeaderChange(epoch, voters):
                node_id = self.settings.node_id
                await self._insist(lambda: self.log.append_leader_change(node_id, voters, epoch))
                self._tell_of_log("append")
                self.changed.wake()
                self.spawn(self._flush())
            case do.TruncateTo(offset):
                end = self.log.end_offset
                await self._insist(lambda: self.log.truncate_to(offset))
                self._tell_of_log("truncate", end)
            case do.AppendFetched():
                await self._append_fetched()
            case do.FetchSnapshot(source):
                self.wanted_snapshot = source
            case do.InstallSnapshot(snapshot_id):
                await self._install_snapshot(snapshot_id)
            case do.HighWatermarkAdvanced(offset):
                self.log.advance_high_watermark(offset)
                emit("high_watermark", TOPIC, 0, offset, self.raft.epoch)
                await self.replay.committed(offset)
                self.changed.wake()
            case do.RoleChanged(role, epoch, leader_id):
                _log.info("quorum: %s in epoch %d, the leader is %s", role.value, epoch, leader_id)
                emit("role", TOPIC, 0, self.log.end_offset, epoch, role.value)
                self.changed.wake()

    async def _append_fetched(self) -> None:
        records, self.fetched_records = self.fetched_records, None
        assert records is not None, "the answer holds no records"
        await self._insist(lambda: self.log.append_fetched(records))
        self._tell_of_log("append")
        await self._insist(self.log.flush)
        await self.step_locked(e.LogFlushed())

    async def _install_snapshot(self, snapshot_id: e.SnapshotId) -> None:
        content, self.fetched_snapshot = self.fetched_snapshot, None
        assert content is not None, "no snapshot was fetched"
        image = Image()
        apply_snapshot(content, image, "a snapshot that was fetched")
        await self._insist(lambda: self.log.snapshots.store(snapshot_id, content))
        end = self.log.end_offset
        await self._insist(self.log.start_over_at_snapshot)
        self._tell_of_log("truncate", end)
        await self.replay.start_over(snapshot_id, image)

    def _tell_of_log(self, kind: str, detail: object = "") -> None:
        emit(kind, TOPIC, 0, self.log.end_offset, self.raft.epoch, detail)

    def _set_timer(self) -> None:
        """A timer that goes off too early is set again then: most are put off again and again."""
        wake_at = self.raft.wake_at
        if self._timer is not None:
            if self._timer.when() <= wake_at and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(wake_at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._loop.time() < self.raft.wake_at:
            self._set_timer()
        else:
            self.spawn(self._step(e.TimePassed()))

    async def _tell(self, effect: wire_form.Tell) -> None:
        api_key, body = wire_form.request_of(
            effect, self.settings.node_id, self.settings.cluster_id
        )
        timeout_s = self.settings.request_timeout_s
        try:
            answer = await self._channels[effect.to].ask(api_key, body, timeout_s=timeout_s)
        except UnansweredError as problem:
            _log.debug("quorum: %s", problem)
            return
        self.strangers.answered(effect.to, answer.error_code)
        event = wire_form.event_of(effect, answer)
        if isinstance(event, e.VoteAnswered):
            self.strangers.voted(effect.to, event.answer.error)
        if event is not None:
            await self.step(event)

    # The disk and the tasks

    def _log_failed(self, _: Log, problem: OSError) -> None:
        """Ends the node at once when its metadata log goes offline, as Kafka does.

        Otherwise a node whose log failed at a read or in the background would live on with metadata
        that it can no longer update. A truncation that found no room is tried again instead.
        """
        if not is_lack_of_room(problem):
            self._on_fatal(problem)

    async def _insist(self, deed: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        try:
            done = await insist(deed, self._tell_of_room)
        except (OSError, KafkaError) as problem:
            # Whoever asked is told, too, but nobody can say what is on the disk now.
            if isinstance(problem, OSError) or isinstance(problem.__cause__, OSError):
                self._on_fatal(problem)
            raise
        if self.no_room is not None:
            self._tell_of_room(None)
        return done

    def _tell_of_room(self, problem: OSError | None) -> None:
        if problem is not None and self.no_room is None:
            _log.error("the metadata cannot be written until there is room: %s", problem)
            if self.raft.role is Role.LEADER:
                self.spawn(self._step(e.MakeWay()))
        self.no_room = problem
        self.changed.wake()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._begin(work)
        assert not task.done()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_fatal(error)
