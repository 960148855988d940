"""Three replicas, a controller and a network that loses, doubles and delays: one seed, one life.

Requests, replies, proposals, answers and metadata are events of their own. After every step the
invariants hold, or the step that broke them raises.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from broker.metadata.broker_info import BrokerInfo
from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import ReplicaFetch
from broker.replication.in_sync import IsrProposal
from broker.replication.read_limits import Reader, read_limit
from tests.golden.replication.controller import Controller
from tests.golden.replication.replica import FetchReply, Replica
from tests.property.replication_invariants import Invariants

NODES = (0, 1, 2)
MIN_INSYNC_REPLICAS = 2
MESSAGES_MAX = 40


class Message(NamedTuple):
    """`to` and `life` name a process: what was sent to a former life arrives nowhere."""

    to: int
    life: int
    body: FetchReply | tuple[IsrProposal, PartitionInfo | ErrorCode]


class Request(NamedTuple):
    """Arrives even if the sender has died meanwhile. To nobody: to the controller."""

    sender: int
    life: int
    to: int | None
    body: ReplicaFetch | IsrProposal


class World:
    def __init__(self, seed: int, replica_type: type[Replica] = Replica) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.controller = Controller(NODES, NODES, min_isr=MIN_INSYNC_REPLICAS)
        self.replicas = {
            node_id: replica_type(node_id, min_insync_replicas=MIN_INSYNC_REPLICAS)
            for node_id in NODES
        }
        self.history: list[tuple[PartitionInfo, dict[int, BrokerInfo]]] = []
        self.lives = dict.fromkeys(NODES, 0)
        self.down: dict[int, bool] = {}  # and whether it lost its power
        self.read_to = dict.fromkeys(NODES, 0)
        self.network: list[Message | Request] = []
        self.written = 0
        self.counts: dict[str, int] = {}
        self.invariants = Invariants()
        for node_id, replica in self.replicas.items():
            replica.broker_epoch = self.controller.brokers[node_id].broker_epoch
            replica.after_each_effect = self.invariants.look_at
            replica.records_per_fetch = self.random.choice((1, 2, 5))
        self._note_metadata()
        self.actions: list[tuple[Callable[[], None], float]] = self._draw_weights()

    def _draw_weights(self) -> list[tuple[Callable[[], None], float]]:
        """Each life has its own mix of troubles, and some troubles not at all."""
        trouble = [
            (self.elect, 0.7),
            (self.fence, 0.4),
            (self.kill, 0.3),
            (self.lose_power, 0.4),
            (self.delete_records, 0.4),
            (self.let_time_pass, 2.0),
        ]
        drawn = [(act, weight * self.random.choice((0, 0.5, 1, 2))) for act, weight in trouble]
        return [
            (self.produce, 8.0),
            (self.ask, 18.0),
            (self.deliver, 50.0),
            (self.learn, 7.0),
            (self.check_lag, 3.0),
            (self.start, 4.0),
            (self.unfence, 4.0),
            (self.flush, 1.0),
            (self.read, 1.0),
            *drawn,
        ]

    # Living

    def live(self, steps: int) -> None:
        acts = [act for act, _ in self.actions]
        weights = [weight for _, weight in self.actions]
        for act in self.random.choices(acts, weights, k=steps):
            act()
            self._settle()

    def heal(self) -> bool:
        """Everyone is back and the network is good: the partition must come back as well."""
        self.network.clear()
        for node_id in NODES:
            self._start(node_id)
            self.controller.unfence(node_id)
        self._settle()
        self.produce()
        for _ in range(300):
            if self._is_whole():
                return True
            self.now += 0.5
            for node_id in NODES:
                self._tell(node_id, len(self.history) - 1)
                self._ask(node_id)
                self.replicas[node_id].check_lag(self.now)
                self._resend(node_id)
                self._settle()
                while self.network:
                    self._arrive(self.network.pop(0))
                    self._settle()
        return False

    def _is_whole(self) -> bool:
        marks = {replica.log.high_watermark for replica in self.replicas.values()}
        ends = {replica.log.end_offset for replica in self.replicas.values()}
        return len(self.controller.info.isr) == len(NODES) and marks == ends and len(ends) == 1

    def _settle(self) -> None:
        """What a step led to: messages to send, metadata to spread, promises to check."""
        if self.history[-1] != (self.controller.info, self.controller.brokers):
            self._note_metadata()
        for node_id, replica in self.replicas.items():
            for proposal in replica.proposals:
                self._send(Request(node_id, self.lives[node_id], None, proposal))
            replica.proposals.clear()
            for written, outcome in replica.answered:
                if outcome == ErrorCode.NONE:
                    self._count("acknowledged")
                    self.invariants.acknowledged(written)
            replica.answered.clear()
        up = {node: replica for node, replica in self.replicas.items() if node not in self.down}
        self.invariants.check(self.controller.info, up, self.lives)

    def _note_metadata(self) -> None:
        self.history.append((self.controller.info, self.controller.brokers))

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def _someone_up(self) -> int | None:
        up = [node_id for node_id in NODES if node_id not in self.down]
        return self.random.choice(up) if up else None

    # Clients

    def produce(self) -> None:
        """To anyone who believes to lead."""
        leaders = [node_id for node_id in NODES if self.replicas[node_id].leader is not None]
        if leaders:
            replica = self.replicas[self.random.choice(leaders)]
            replica.produce(f"v{self.written}", acks=-1, now=self.now)
            self.written += 1

    def read(self) -> None:
        node_id = self._someone_up()
        if node_id is not None:
            log = self.replicas[node_id].log
            up_to = read_limit(log, Reader.UNCOMMITTED)
            self.invariants.was_read(log.start_offset, log.between(log.start_offset, up_to))

    def delete_records(self) -> None:
        leader = self.replicas.get(self.controller.info.leader)
        if leader is not None and leader.leader is not None:
            log = leader.log
            leader.delete_records(self.random.randint(log.start_offset, log.high_watermark))

    # Messages

    def ask(self) -> None:
        node_id = self._someone_up()
        if node_id is not None:
            self._ask(node_id)

    def _ask(self, node_id: int) -> None:
        replica = self.replicas[node_id]
        leader = replica.leader_node
        if replica.leader is None and leader not in (NO_LEADER, node_id):
            self._send(Request(node_id, self.lives[node_id], leader, replica.ask()))

    def _send(self, message: Message | Request) -> None:
        self.network.append(message)
        if len(self.network) > MESSAGES_MAX:
            del self.network[self.random.randrange(MESSAGES_MAX)]

    def deliver(self) -> None:
        if not self.network:
            return
        place = self.random.randrange(len(self.network))
        if self.random.random() < 0.5:
            place = 0  # the oldest: most messages come in order
        fate = self.random.random()
        message = self.network[place]
        if fate > 0.08:  # otherwise it arrives, and will once more
            del self.network[place]
        if fate < 0.92:
            self._arrive(message)

    def _arrive(self, message: Message | Request) -> None:
        if isinstance(message, Request):
            self._serve(message)
        elif message.to not in self.down and message.life == self.lives[message.to]:
            replica = self.replicas[message.to]
            if isinstance(message.body, FetchReply):
                ends_at = replica.end_offset
                replica.hear(message.body)
                self._count("truncated" if replica.end_offset < ends_at else "heard")
            else:
                proposal, answer = message.body
                replica.proposal_answered(proposal, answer, self.now)

    def _serve(self, request: Request) -> None:
        back = request.sender, request.life
        if isinstance(request.body, IsrProposal):
            before = len(self.controller.info.isr)
            answer = self.controller.alter_partition(request.sender, request.body)
            after = len(self.controller.info.isr)
            if after != before:
                self._count("expanded" if after > before else "shrunk")
            if answer == ErrorCode.INELIGIBLE_REPLICA:
                self._count("ineligible")
            self._send(Message(*back, (request.body, answer)))
        elif request.to is not None and request.to not in self.down:
            reply = self.replicas[request.to].serve(request.body, self.now)
            self._send(Message(*back, reply))

    def learn(self) -> None:
        """The next piece of metadata, or all that there is."""
        node_id = self._someone_up()
        if node_id is not None:
            newest = len(self.history) - 1
            at = self.read_to[node_id] + 1
            self._tell(node_id, newest if self.random.random() < 0.5 else min(at, newest))

    def _tell(self, node_id: int, place: int) -> None:
        self.read_to[node_id] = place
        self.replicas[node_id].learn(*self.history[place], self.now)

    def check_lag(self) -> None:
        node_id = self._someone_up()
        if node_id is not None:
            self.replicas[node_id].check_lag(self.now)
            self._resend(node_id)

    def _resend(self, node_id: int) -> None:
        leader = self.replicas[node_id].leader
        if leader is not None and leader.in_flight is not None:
            self._send(Request(node_id, self.lives[node_id], None, leader.in_flight))

    # Troubles

    def let_time_pass(self) -> None:
        self.now += self.random.choice((1.0, 16.0))

    def flush(self) -> None:
        node_id = self._someone_up()
        if node_id is not None:
            self.replicas[node_id].log.flush()

    def elect(self) -> None:
        """A move, without any need for it. The controller may not know yet that a node is gone."""
        info = self.controller.info
        members = [each for each in info.isr if self.controller.brokers[each].is_active]
        if members:
            self.controller.elect(self.random.choice(members))
            self._count("elected")

    def fence(self) -> None:
        self.controller.fence(self.random.choice(NODES))

    def unfence(self) -> None:
        node_id = self._someone_up()
        if node_id is not None:
            self.controller.unfence(node_id)

    def kill(self) -> None:
        node_id = self._victim()
        if node_id is not None:
            self._crash(node_id, power_lost=False)

    def lose_power(self) -> None:
        node_id = self._victim()
        if node_id is not None:
            log = self.replicas[node_id].log
            self._count("tail lost" if log.synced < log.end_offset else "nothing lost")
            self._crash(node_id, power_lost=True)

    def _victim(self) -> int | None:
        """One at a time, and never the last that is eligible: two in sync promise no more."""
        node_id = self._someone_up()
        info = self.controller.info
        others = [each for each in (*info.isr, *info.elr) if each != node_id]
        return node_id if others and not self.down else None

    def _crash(self, node_id: int, *, power_lost: bool) -> None:
        self.replicas[node_id].crash()
        self.down[node_id] = power_lost
        self.lives[node_id] += 1

    def start(self) -> None:
        if self.down:
            self._start(self.random.choice(sorted(self.down)))

    def _start(self, node_id: int) -> None:
        if node_id in self.down:
            broker_epoch = self.controller.register(node_id)
            self.replicas[node_id].restart(broker_epoch, power_lost=self.down.pop(node_id))
