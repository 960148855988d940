"""The words in which the stories of replication are told: three nodes, one partition.

cluster min-isr 2 isr n0 n1     n0 leads; everybody else follows
write v0 [acks 1] [at n0]       to the leader that the controller knows, unless said otherwise
n1 fetches [3 times]            asks, is answered, hears, all at once
n1 asks / n2 answers n1 / n1 hears [answer 1]   the same as single events
elect n2 [uncleanly]            the news reaches everyone who is not isolated
isolate n0 / heal n0            from the controller, not from the other nodes
fence n1 / unfence n1           as the controller does for want of heartbeats
kill n1 / power off n1 / start n1 [and show it the past]    metadata from before it died
sync n1                         what a power loss will leave
deliver proposal 1 [again]      one that an isolated node could not send, or a second copy
wait 31 s / n0 checks lag / delete records before 2 / min-isr 1
read at n1 from 0 / latest at n1 / reader in rack b from 0 / show
"""

from __future__ import annotations

import re
from collections.abc import Callable

from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import ReplicaFetch
from broker.replication.in_sync import IsrProposal
from broker.replication.preferred_replica import preferred_replica
from broker.replication.read_limits import Reader, check_latest, check_position, read_limit
from tests.golden.replication.controller import Controller
from tests.golden.replication.replica import FetchReply, Replica

RACKS = "abc"


class Story:
    def __init__(self, replica_type: type[Replica] = Replica) -> None:
        self._replica_type = replica_type
        self.said: list[str] = []
        self.now = 0.0
        self.controller = Controller((0, 1, 2), (0, 1, 2), min_isr=1, racks=RACKS)
        self.replicas: dict[int, Replica] = {}
        self.isolated: set[int] = set()
        self.down: dict[int, bool] = {}  # and whether it lost its power
        self.requests: dict[int, ReplicaFetch] = {}
        self.replies: dict[int, list[FetchReply]] = {0: [], 1: [], 2: []}
        self.proposals: list[tuple[int, IsrProposal]] = []

    def interpret(self, lines: list[str]) -> list[str]:
        self.said = []
        for line in lines:
            self._do(line)
        return self.said

    def _do(self, line: str) -> None:
        for pattern, action in WORDS.items():
            found = re.fullmatch(pattern, line)
            if found:
                action(self, *(int(group[1:]) if re.fullmatch(r"n\d", group or "") else group
                               for group in found.groups()))  # fmt: skip
                self._send_proposals()
                return
        raise ValueError(f"nobody knows what this means: {line}")

    def say(self, words: str) -> None:
        self.said.append(words)

    # The controller

    def cluster(self, min_isr: str, isr: str | None) -> None:
        members = tuple(int(name[1:]) for name in (isr or "n0 n1 n2").split())
        self.controller = Controller((0, 1, 2), members, min_isr=int(min_isr), racks=RACKS)
        for node_id in (0, 1, 2):
            replica = self._replica_type(node_id, min_insync_replicas=int(min_isr), say=self.say)
            replica.broker_epoch = self.controller.brokers[node_id].broker_epoch
            self.replicas[node_id] = replica
        self._tell_everyone()

    def _tell_everyone(self) -> None:
        info, brokers = self.controller.info, self.controller.brokers
        for node_id, replica in self.replicas.items():
            if node_id not in self.isolated and node_id not in self.down:
                replica.learn(info, brokers, self.now)

    def _announce(self) -> None:
        info = self.controller.info
        isr = " ".join(f"n{member}" for member in info.isr) or "empty"
        elr = "".join(f" n{member}" for member in info.elr)
        leader = "nobody leads" if info.leader == NO_LEADER else f"n{info.leader} leads"
        self.say(
            f"controller: {leader} epoch {info.leader_epoch}, "
            f"isr {isr}{f', eligible{elr}' if elr else ''}"
        )

    def elect(self, node_id: int, uncleanly: str | None) -> None:
        if node_id not in self.controller.info.isr and not uncleanly:
            self.say(f"controller: n{node_id} is not in sync, and is not elected")
            return
        self.controller.elect(node_id)
        self._announce()
        self._tell_everyone()

    def isolate(self, node_id: int) -> None:
        self.isolated.add(node_id)

    def heal(self, node_id: int) -> None:
        self.isolated.discard(node_id)
        self._tell_everyone()

    def fence(self, node_id: int) -> None:
        self.controller.fence(node_id)
        self._announce()
        self._tell_everyone()

    def unfence(self, node_id: int) -> None:
        self.controller.unfence(node_id)
        self._tell_everyone()

    def _send_proposals(self) -> None:
        for node_id, replica in self.replicas.items():
            while replica.proposals:
                self.proposals.append((node_id, replica.proposals.pop(0)))
                if node_id not in self.isolated:
                    self.deliver(str(len(self.proposals)), None)

    def deliver(self, number: str, _again: str | None) -> None:
        node_id, proposal = self.proposals[int(number) - 1]
        answer = self.controller.alter_partition(node_id, proposal)
        if isinstance(answer, PartitionInfo):
            self._announce()
            self._tell_everyone()
        else:
            self.say(f"controller: refuses proposal {number}: {answer.name}")
        if node_id not in self.isolated:
            self.replicas[node_id].proposal_answered(proposal, answer, self.now)

    # The nodes

    def write(self, value: str, acks: str | None, node_id: int | None) -> None:
        node_id = self.controller.info.leader if node_id is None else node_id
        refusal = self.replicas[node_id].produce(value, acks=int(acks or "-1"), now=self.now)
        if refusal != ErrorCode.NONE:
            self.say(f"n{node_id}: {value} {refusal.name}")

    def fetches(self, node_id: int, times: str | None) -> None:
        for _ in range(int(times or "1")):
            self.asks(node_id)
            server = self.replicas[node_id].leader_node
            if server in self.down:
                return
            self.answers(server, node_id)
            self.hears(node_id, None)

    def asks(self, node_id: int) -> None:
        self.requests[node_id] = request = self.replicas[node_id].ask()
        self.say(
            f"n{node_id}: asks from {request.fetch_offset}, "
            f"last epoch {request.last_fetched_epoch}, in epoch {request.current_leader_epoch}"
        )

    def answers(self, server: int, node_id: int) -> None:
        reply = self.replicas[server].serve(self.requests[node_id], self.now)
        self.replies[node_id].append(reply)

    def hears(self, node_id: int, number: str | None) -> None:
        """The last answer, unless an older one comes again."""
        self.replicas[node_id].hear(self.replies[node_id][int(number or "0") - 1])

    def checks_lag(self, node_id: int) -> None:
        self.replicas[node_id].check_lag(self.now)

    def kill(self, node_id: int) -> None:
        self.down[node_id] = False
        self.replicas[node_id].crash()

    def power_off(self, node_id: int) -> None:
        self.down[node_id] = True
        self.replicas[node_id].crash()

    def start(self, node_id: int, and_show_it_the_past: str | None) -> None:
        replica = self.replicas[node_id]
        power_lost = self.down.pop(node_id)
        past = self.controller.info, self.controller.brokers
        replica.restart(self.controller.register(node_id), power_lost=power_lost)
        self.say(f"n{node_id}: starts with an end of {replica.end_offset}")
        if and_show_it_the_past:
            replica.learn(*past, self.now)
            self.isolate(node_id)
        self.controller.unfence(node_id)
        self._announce()
        self._tell_everyone()

    def sync(self, node_id: int) -> None:
        self.replicas[node_id].log.flush()

    def wait(self, seconds: str) -> None:
        self.now += float(seconds)

    def delete_records(self, before: str) -> None:
        leader = self.replicas[self.controller.info.leader]
        leader.delete_records(int(before))
        self.say(f"n{leader.node_id}: begins at {leader.log.start_offset}")

    def min_isr(self, count: str) -> None:
        self.controller.min_isr = int(count)
        for replica in self.replicas.values():
            replica.change_min_insync_replicas(int(count), self.now)

    # Clients

    def read(self, node_id: int, first: str) -> None:
        replica, offset = self.replicas[node_id], int(first)
        error = check_position(replica.log, offset, is_leader=replica.leader is not None)
        if error != ErrorCode.NONE:
            self.say(f"n{node_id}: {error.name}")
            return
        up_to = read_limit(replica.log, Reader.UNCOMMITTED)
        values = " ".join(record.value for record in replica.log.between(offset, up_to))
        self.say(f"n{node_id}: reader gets {values or 'nothing'}")

    def latest(self, node_id: int) -> None:
        replica = self.replicas[node_id]
        if replica.leader is None:
            self.say(f"n{node_id}: {ErrorCode.NOT_LEADER_OR_FOLLOWER.name}")
            return
        start = replica.leader.epoch_start_offset
        error = check_latest(replica.log, start, Reader.UNCOMMITTED)
        latest = read_limit(replica.log, Reader.UNCOMMITTED)
        self.say(f"n{node_id}: {error.name if error else f'latest offset is {latest}'}")

    def reader_in(self, rack: str, first: str) -> None:
        node_id = self.controller.info.leader
        leader = self.replicas[node_id].leader
        assert leader is not None
        chosen = preferred_replica(
            leader, own_rack=RACKS[node_id], client_rack=rack, fetch_offset=int(first)
        )
        self.say(f"n{node_id}: sends the reader to n{node_id if chosen is None else chosen}")

    def show(self) -> None:
        for node_id, replica in self.replicas.items():
            log = replica.log
            held = " ".join(
                f"{offset}:{log.at(offset).value}(e{log.at(offset).epoch})"
                for offset in range(log.start_offset, log.end_offset)
            )
            state = " down" if node_id in self.down else ""
            self.say(f"n{node_id}: {held or 'empty'}, high watermark {log.high_watermark}{state}")


WORDS: dict[str, Callable[..., None]] = {
    r"cluster min-isr (\d)(?: isr((?: n\d)+))?": Story.cluster,
    r"write (\w+)(?: acks (\S+))?(?: at (n\d))?": Story.write,
    r"(n\d) fetches(?: (\d) times)?": Story.fetches,
    r"(n\d) asks": Story.asks,
    r"(n\d) answers (n\d)": Story.answers,
    r"(n\d) hears(?: answer (\d))?": Story.hears,
    r"(n\d) checks lag": Story.checks_lag,
    r"elect (n\d)( uncleanly)?": Story.elect,
    r"isolate (n\d)": Story.isolate,
    r"heal (n\d)": Story.heal,
    r"fence (n\d)": Story.fence,
    r"unfence (n\d)": Story.unfence,
    r"kill (n\d)": Story.kill,
    r"power off (n\d)": Story.power_off,
    r"start (n\d)( and show it the past)?": Story.start,
    r"sync (n\d)": Story.sync,
    r"deliver proposal (\d)( again)?": Story.deliver,
    r"wait (\d+) s": Story.wait,
    r"delete records before (\d+)": Story.delete_records,
    r"min-isr (\d)": Story.min_isr,
    r"read at (n\d) from (\d+)": Story.read,
    r"latest at (n\d)": Story.latest,
    r"reader in rack (\w) from (\d+)": Story.reader_in,
    r"show": Story.show,
}
