"""One replica: a log in memory, and the rules of replication wired to it.

It sends nothing by itself: what goes to another node is handed out as a value, so that requests,
replies, proposals and metadata can arrive late, twice or never.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from broker.metadata.broker_info import BrokerInfo
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode
from broker.replication import follower as following
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch
from broker.replication.in_sync import IsrProposal
from broker.replication.leader import LeaderState, Progress, Refused
from broker.replication.own_registration import knows_this_life
from broker.replication.waiting_produces import WaitingProduces
from tests.golden.replication.memory_log import MemoryLog, Record

LAG_TIME_MAX_S = 30.0
NO_NODE = -1


class Written(NamedTuple):
    value: str
    offset: int


class FetchReply(NamedTuple):
    question: following.Question
    answer: following.Answer
    records: tuple[Record, ...] = ()


class Replica:
    leader_type: type[LeaderState] = LeaderState
    records_per_fetch = 1

    def __init__(
        self, node_id: int, *, min_insync_replicas: int, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.node_id = node_id
        self.min_insync_replicas = min_insync_replicas
        self._say = say
        self.log = MemoryLog()
        self.info: PartitionInfo | None = None
        self.brokers: Mapping[int, BrokerInfo] = {}
        self.broker_epoch = -1
        self.leader: LeaderState | None = None
        self.waiting: WaitingProduces[Written] = WaitingProduces()
        self.answered: list[tuple[Written, ErrorCode]] = []
        self.proposals: list[IsrProposal] = []
        self.after_each_effect: Callable[[Replica], None] = lambda _: None

    def say(self, words: str) -> None:
        self._say(f"n{self.node_id}: {words}")

    # Metadata

    def learn(self, info: PartitionInfo, brokers: Mapping[int, BrokerInfo], now: float) -> None:
        if not self.may_act_on(brokers):
            self.say("takes no notice: that was before it started")
            return
        self.brokers = brokers
        if self.leader is not None:
            self._follow_up(self.leader.brokers_changed(brokers, now))
        known = self.info
        if known is not None and info.partition_epoch <= known.partition_epoch:
            return
        self.info = info
        if known is not None and known.leader_epoch == info.leader_epoch:
            if self.leader is not None:
                self._follow_up(self.leader.metadata_changed(info, now))
            return
        self.end_leadership()
        if info.leader == self.node_id:
            self.become_leader(info, now)
        elif info.leader != NO_NODE:
            self.become_follower(info)

    def may_act_on(self, brokers: Mapping[int, BrokerInfo]) -> bool:
        return knows_this_life(brokers, self.node_id, self.broker_epoch)

    def become_leader(self, info: PartitionInfo, now: float) -> None:
        log = self.log
        log.epochs.assign(info.leader_epoch, log.end_offset)
        self.leader = self.leader_type(
            node_id=self.node_id,
            info=info,
            epoch_start_offset=log.end_offset,
            high_watermark=log.high_watermark,
            min_insync_replicas=self.min_insync_replicas,
            lag_time_max_s=LAG_TIME_MAX_S,
            brokers=self.brokers,
            now=now,
        )
        log.advance_high_watermark(self.leader.high_watermark)
        self.say(
            f"leads epoch {info.leader_epoch} from {log.end_offset}, "
            f"high watermark {log.high_watermark}"
        )

    def become_follower(self, info: PartitionInfo) -> None:
        self.say(f"follows n{info.leader} in epoch {info.leader_epoch}, ends at {self.end_offset}")

    def end_leadership(self) -> None:
        self.leader = None
        self._answer(self.waiting.take_all())

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def leader_node(self) -> int:
        return NO_NODE if self.info is None else self.info.leader

    # Leading

    def produce(self, value: str, *, acks: int, now: float, timeout_s: float = 60.0) -> ErrorCode:
        if self.leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        refusal = self.leader.can_accept(acks)
        if refusal != ErrorCode.NONE:
            return refusal
        offset = self.log.append(self.leader.leader_epoch, value)
        self.say(f"{value} at {offset}")
        self.appended(Written(value, offset), acks, now, now + timeout_s)
        return ErrorCode.NONE

    def appended(self, written: Written, acks: int, now: float, deadline: float) -> None:
        assert self.leader is not None
        moved = self.leader.appended(self.log.end_offset, now)
        if acks == -1:
            self.waiting.add(written, written.offset + 1, deadline)
        else:
            self._answer([(written, ErrorCode.NONE)])
        self._follow_up(Progress(moved))

    def serve(self, fetch: ReplicaFetch, now: float) -> FetchReply:
        question = following.Question(
            fetch.fetch_offset,
            fetch.last_fetched_epoch,
            fetch.current_leader_epoch,
            fetch.log_start_offset,
        )
        if self.leader is None:
            return FetchReply(question, following.Answer(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        outcome = self.judge(fetch, now)
        if not isinstance(outcome, Progress):
            return FetchReply(question, self._refusal(f"n{fetch.replica}", outcome))
        self.say(f"n{fetch.replica} is at {fetch.fetch_offset}")
        self._follow_up(outcome)
        first, log = fetch.fetch_offset, self.log
        records = tuple(log.between(first, first + self.records_per_fetch))
        answer = following.Answer(
            has_records=bool(records),
            high_watermark=log.high_watermark,
            log_start_offset=log.start_offset,
        )
        return FetchReply(question, answer, records)

    def _refusal(self, name: str, outcome: Refused | OutOfRange | Diverging) -> following.Answer:
        match outcome:
            case Refused(code, _):
                self.say(f"refuses {name}: {code.name}")
                return following.Answer(code)
            case OutOfRange(start_offset, end_offset):
                self.say(f"{name} is out of range {start_offset} to {end_offset}")
                error = ErrorCode.OFFSET_OUT_OF_RANGE
                return following.Answer(error, log_start_offset=start_offset)
            case Diverging(epoch, end_offset):
                self.say(f"{name} diverges: epoch {epoch} ends at {end_offset}")
                return following.Answer(
                    diverging=outcome,
                    high_watermark=self.log.high_watermark,
                    log_start_offset=self.log.start_offset,
                )

    def judge(self, fetch: ReplicaFetch, now: float) -> Progress | Diverging | OutOfRange | Refused:
        assert self.leader is not None
        return self.leader.fetch_arrived(self.log, fetch, now)

    def check_lag(self, now: float) -> None:
        if self.leader is not None:
            self._follow_up(self.leader.check_lag(now))
        self._answer(self.waiting.take_expired(now))

    def proposal_answered(
        self, proposal: IsrProposal, answer: PartitionInfo | ErrorCode, now: float
    ) -> None:
        if self.leader is None:
            return
        if isinstance(answer, PartitionInfo):
            self._follow_up(self.leader.proposal_accepted(proposal, answer, now))
        else:
            self._follow_up(self.leader.proposal_refused(proposal, answer))

    def change_min_insync_replicas(self, count: int, now: float) -> None:
        self.min_insync_replicas = count
        if self.leader is not None:
            self._follow_up(self.leader.min_insync_replicas_changed(count, now))

    def delete_records(self, before: int) -> None:
        self.log.raise_start(min(before, self.log.high_watermark))

    def _follow_up(self, progress: Progress) -> None:
        assert self.leader is not None
        if progress.high_watermark_moved:
            self.log.advance_high_watermark(self.leader.high_watermark)
            self.say(f"high watermark {self.log.high_watermark}")
        self._answer(
            self.waiting.take_committed(
                self.leader.high_watermark, is_under_min_isr=self.leader.is_under_min_isr
            )
        )
        if progress.proposal is not None:
            members = " ".join(f"n{member.node_id}" for member in progress.proposal.isr)
            self.say(f"proposes isr {members}")
            self.proposals.append(progress.proposal)

    def _answer(self, outcomes: list[tuple[Written, ErrorCode]]) -> None:
        for written, outcome in outcomes:
            verdict = "acknowledged" if outcome == ErrorCode.NONE else outcome.name
            self.say(f"{written.value} {verdict}")
        self.answered += outcomes

    # Following

    def ask(self) -> ReplicaFetch:
        assert self.info is not None
        question = following.next_question(self.log, self.info.leader_epoch)
        return ReplicaFetch(
            replica=self.node_id,
            broker_epoch=self.broker_epoch,
            current_leader_epoch=question.current_leader_epoch,
            fetch_offset=question.fetch_offset,
            last_fetched_epoch=question.last_fetched_epoch,
            log_start_offset=question.log_start_offset,
        )

    def hear(self, reply: FetchReply) -> None:
        if self.info is None or self.leader is not None:
            self.say("takes no notice: it leads")
            return
        effects = self.decide(reply)
        if not effects and not following.is_current(
            self.log, self.info.leader_epoch, reply.question
        ):
            self.say("takes no notice: the answer is late")
        for effect in effects:
            self._carry_out(effect, reply)
            self.after_each_effect(self)

    def decide(self, reply: FetchReply) -> tuple[following.Effect, ...]:
        assert self.info is not None
        return following.effects_of(self.log, self.info.leader_epoch, reply.question, reply.answer)

    def _carry_out(self, effect: following.Effect, reply: FetchReply) -> None:
        log = self.log
        match effect:
            case following.Truncate(offset):
                self.say(f"truncates to {offset}")
                log.truncate_to(offset)
            case following.StartOver(offset):
                self.say(f"starts over at {offset}")
                log.start_over(offset)
            case following.AppendRecords():
                offset = log.append_replicated(reply.records)
                values = " ".join(record.value for record in reply.records)
                self.say(f"{values} at {offset}")
            case following.AdvanceHighWatermark(offset):
                log.advance_high_watermark(offset)
                self.say(f"high watermark {log.high_watermark}")
            case following.RaiseLogStart(offset):
                log.raise_start(offset)
                self.say(f"begins at {offset}")
            case following.Wait(error, for_metadata):
                until = " for metadata" if for_metadata else ""
                self.say(f"waits{until}: {ErrorCode(error).name}")

    # Dying

    def crash(self) -> None:
        """No clean-up: nobody who waits is told anything."""
        self.info = self.leader = None
        self.brokers = {}
        self.waiting = WaitingProduces()
        self.answered = []
        self.proposals = []

    def restart(self, broker_epoch: int, *, power_lost: bool) -> None:
        self.broker_epoch = broker_epoch
        self.log.restart(power_lost=power_lost)
