"""Plays stories of a controller: a command is one line, and so is each thing that it changes.

cluster 1 2/rack 3              these brokers register and are let in, at time 0
cluster 1:a,b 2 3               the same; the first one has two log directories
topic t 1,2,3 2,3,1             a topic with these replicas; min.isr=2 is told by `config`
place t partitions=3 factor=2 start=0
config min.isr=2 unclean=yes
wait 9 beats 2,3                seconds go by, while these brokers keep in touch
beat 1 [wants fence|shutdown] [behind] [offline=a,b]
lies 1 t-0=a t-1=b              a broker says in which directories its replicas are
restart 1 clean|unclean [dirs=a]    the broker registers again, as a new process
restart 1 killed since=0            the same after a kill: it has noted the life with this epoch
alter t-0 by 1 isr 1,2@4 [leader-epoch=3] [partition-epoch=3] [broker-epoch=0]
elect preferred|unclean t-0     balance 10
reassign t-0 4,5,6|cancel       reassignments
unregister 1                    new controller
ids 1                           a block for this broker, decided and committed
decide ids, commit ids          the same in two steps; `next ids 1` comes in between
show t-0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker.controller.alter_partition import IsrMember, IsrRequest, alter_partition
from broker.controller.balance import balance_leaders
from broker.controller.broker_events import fence_brokers, unregister_broker
from broker.controller.elect_leaders import ElectionType, elect_leader
from broker.controller.heartbeat import Heartbeat, answer_heartbeat
from broker.controller.liveness import BrokerLiveness
from broker.controller.partition_change import first_state
from broker.controller.placement import place_replicas
from broker.controller.producer_id_blocks import ProducerIdBlock, allocate_producer_ids
from broker.controller.reassignment import ongoing_reassignments, reassign
from broker.controller.registration import Registration, register_broker
from broker.controller.replica_directories import Lying, assign_directories
from broker.controller.rules_change import follow_new_rules
from broker.controller.topic_rules import TopicRules
from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import Change, TopicCreated
from broker.metadata.image import ConflictError, Image
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import KafkaError
from tests.golden.controller.words import members, state, tell

SESSION_S = 9.0


class Story:
    def __init__(self) -> None:
        self.now = 0.0
        self.image = Image()
        self.rules = TopicRules()
        self.liveness = self._new_liveness()
        self.incarnations = 0
        self.decided: ProducerIdBlock | None = None
        self.commands: dict[str, Callable[[list[str], dict[str, str]], list[str]]] = {
            "cluster": self._cluster,
            "topic": self._topic,
            "place": self._place,
            "config": self._config,
            "wait": self._wait,
            "beat": self._beat,
            "lies": self._lies,
            "restart": self._restart,
            "alter": self._alter,
            "elect": self._elect,
            "balance": self._balance,
            "reassign": self._reassign,
            "reassignments": self._reassignments,
            "unregister": self._unregister,
            "new": self._new_controller,
            "ids": self._ids,
            "decide": self._decide_ids,
            "commit": self._commit_ids,
            "next": self._ids_of_another_controller,
            "show": self._show,
        }

    def interpret(self, lines: list[str]) -> list[str]:
        said = []
        for line in lines:
            words = line.split()
            options = dict(word.split("=") for word in words if "=" in word)
            plain = [word for word in words[1:] if "=" not in word]
            try:
                said += self.commands[words[0]](plain, options) or ["nothing changes"]
            except KafkaError as refusal:
                said.append(f"refused: {refusal.code.name}: {refusal.message}")
            except ConflictError as conflict:
                said.append(f"not committed: {conflict}")
        return said

    def _make(self, changes: Iterable[Change]) -> list[str]:
        said: list[str] = []
        for change in changes:
            before = self.image.copy()
            self.image.apply(change)
            said += tell(before, change)
        return said

    def _rules_of(self, topic: str) -> TopicRules:
        return self.rules

    def _new_liveness(self) -> BrokerLiveness:
        return BrokerLiveness(SESSION_S, self.image, now=self.now, metadata_end=self.image.version)

    def _register(
        self,
        broker_id: int,
        previous_epoch: int,
        *,
        rack: str | None = None,
        log_dirs: tuple[bytes, ...] = (),
    ) -> list[str]:
        self.incarnations += 1
        wanted = Registration(
            broker_id=broker_id,
            incarnation_id=self.incarnations.to_bytes(16, "big"),
            endpoints=(Endpoint("PLAINTEXT", f"n{broker_id}", 9092),),
            rack=rack,
            log_dirs=log_dirs,
            previous_broker_epoch=previous_epoch,
        )
        registered = register_broker(
            self.image,
            self.liveness,
            wanted,
            now=self.now,
            metadata_end=self.image.version,
            rules_of=self._rules_of,
        )
        return self._make(registered.changes)

    def _cluster(self, words: list[str], options: dict[str, str]) -> list[str]:
        for word in words:
            before, _, rack = word.partition("/")
            broker_id, _, log_dirs = before.partition(":")
            self._register(int(broker_id), -1, rack=rack or None, log_dirs=directories(log_dirs))
            self._beat([broker_id], {})
        return [
            f"broker {broker.broker_id}: registered with epoch {broker.broker_epoch}, unfenced"
            for broker in self.image.brokers_sorted()
        ]

    def _topic(self, words: list[str], options: dict[str, str]) -> list[str]:
        return self._create(words[0], [numbers(word) for word in words[1:]])

    def _create(self, name: str, lists: Iterable[Iterable[int]]) -> list[str]:
        infos = tuple(first_state([*each], self.image.is_active) for each in lists)
        made = tuple(info for info in infos if info is not None)
        return self._make([TopicCreated(name, name.encode().ljust(16), made, {})])

    def _place(self, words: list[str], options: dict[str, str]) -> list[str]:
        lists = place_replicas(
            self.image.brokers_sorted(),
            partitions=int(options["partitions"]),
            factor=int(options["factor"]),
            start=int(options["start"]),
        )
        return self._create(words[0], lists)

    def _config(self, words: list[str], options: dict[str, str]) -> list[str]:
        self.rules = TopicRules(
            min_isr=int(options.get("min.isr", self.rules.min_isr)),
            unclean=options.get("unclean", "no") == "yes",
        )
        said = f"min.isr is {self.rules.min_isr}"
        if self.rules.unclean:
            said += ", unclean elections are allowed"
        return [said, *self._make(follow_new_rules(self.image, self._rules_of))]

    def _wait(self, words: list[str], options: dict[str, str]) -> list[str]:
        end = self.now + float(words[0])
        said = []
        while self.now < end:
            self.now = min(self.now + 1, end)
            for broker_id in numbers(words[2]) if words[1:] else []:
                said += [
                    line for line in self._beat([str(broker_id)], {}) if "answered" not in line
                ]
            said += self._make(
                fence_brokers(
                    self.image, self.liveness.expired(self.image, self.now), self._rules_of
                )
            )
        return said

    def _beat(self, words: list[str], options: dict[str, str]) -> list[str]:
        broker_id = int(words[0])
        known = self.image.brokers[broker_id]
        answer = answer_heartbeat(
            self.image,
            self.liveness,
            Heartbeat(
                broker_id=broker_id,
                broker_epoch=int(options.get("broker-epoch", known.broker_epoch)),
                applied_end=self.image.version - ("behind" in words),
                want_fence="fence" in words,
                want_shut_down="shutdown" in words,
                offline_dirs=directories(options.get("offline", "")),
            ),
            now=self.now,
            metadata_end=self.image.version,
            rules_of=self._rules_of,
        )
        said = ["is fenced" if answer.is_fenced else "goes on"]
        if not answer.is_caught_up:
            said.append("is behind")
        if answer.should_shut_down:
            said.append("may stop")
        return [*self._make(answer.changes), f"broker {broker_id} is answered: {', '.join(said)}"]

    def _lies(self, words: list[str], options: dict[str, str]) -> list[str]:
        broker_id = int(words[0])
        asked = {}
        for word, directory in options.items():
            name, index, _ = self._partition(word)
            topic_id = self.image.topics[name].topic_id
            asked[Lying(directories(directory)[0], topic_id, index)] = word
        epoch = self.image.brokers[broker_id].broker_epoch
        done = assign_directories(self.image, broker_id, epoch, asked, self._rules_of)
        refused = [f"{asked[each]}: {code.name}" for each, code in done.errors.items() if code]
        return self._make(done.changes) + refused

    def _restart(self, words: list[str], options: dict[str, str]) -> list[str]:
        broker_id = int(words[0])
        known = self.image.brokers.get(broker_id)
        epoch = known.broker_epoch if known and words[1] == "clean" else -1
        if words[1] == "killed":
            epoch = int(options["since"])
        log_dirs = known.log_dirs if known else ()
        if "dirs" in options:
            log_dirs = directories(options["dirs"])
        return self._register(broker_id, epoch, log_dirs=log_dirs)

    def _alter(self, words: list[str], options: dict[str, str]) -> list[str]:
        name, index, info = self._partition(words[0])
        leader = int(words[2])
        known = self.image.brokers[leader]
        new_isr = [
            IsrMember(
                int(number), int(epoch) if at else self.image.brokers[int(number)].broker_epoch
            )
            for number, at, epoch in (word.partition("@") for word in words[4].split(","))
        ]
        altered = alter_partition(
            self.image,
            IsrRequest(
                broker_id=leader,
                broker_epoch=int(options.get("broker-epoch", known.broker_epoch)),
                topic_id=self.image.topics[name].topic_id,
                index=index,
                leader_epoch=int(options.get("leader-epoch", info.leader_epoch)),
                partition_epoch=int(options.get("partition-epoch", info.partition_epoch)),
                new_isr=new_isr,
            ),
            self._rules_of,
        )
        told = [f"broker {leader} is told {altered.error.name}"] if altered.error else []
        return self._make(altered.changes) + told

    def _elect(self, words: list[str], options: dict[str, str]) -> list[str]:
        name, index, _ = self._partition(words[1])
        kind = ElectionType[words[0].upper()]
        return self._make([elect_leader(self.image, name, index, kind, self._rules_of)])

    def _balance(self, words: list[str], options: dict[str, str]) -> list[str]:
        return self._make(balance_leaders(self.image, int(words[0]), self._rules_of))

    def _reassign(self, words: list[str], options: dict[str, str]) -> list[str]:
        name, index, _ = self._partition(words[0])
        target = None if words[1] == "cancel" else numbers(words[1])
        return self._make(reassign(self.image, name, index, target, self._rules_of))

    def _reassignments(self, words: list[str], options: dict[str, str]) -> list[str]:
        return [
            f"{each.topic}-{each.index}: {members(each.info.replicas)} "
            f"adding {members(each.info.adding_replicas)} "
            f"removing {members(each.info.removing_replicas)}"
            for each in ongoing_reassignments(self.image)
        ] or ["none"]

    def _unregister(self, words: list[str], options: dict[str, str]) -> list[str]:
        return self._make(unregister_broker(self.image, int(words[0]), self._rules_of))

    def _new_controller(self, words: list[str], options: dict[str, str]) -> list[str]:
        """It has what the log has, and knows of no contact with anybody."""
        again = Image(version=self.image.version)
        for change in self.image.as_changes():
            again.apply(change)
        assert again.digest() == self.image.digest()
        again.version = self.image.version
        self.image = again
        self.liveness = self._new_liveness()
        expired = self.liveness.expired(self.image, self.now)
        return [f"sessions that have ended: {members(expired)}"]

    def _ids(self, words: list[str], options: dict[str, str]) -> list[str]:
        self._decide_ids([], {})
        return [f"broker {words[0]} {line}" for line in self._commit_ids([], {})]

    def _ids_of_another_controller(self, words: list[str], options: dict[str, str]) -> list[str]:
        """What was decided before stays in the air."""
        in_the_air = self.decided
        said = self._ids(words[1:], {})
        self.decided = in_the_air
        return said

    def _decide_ids(self, words: list[str], options: dict[str, str]) -> list[str]:
        self.decided = allocate_producer_ids(self.image)
        return ["decided, but nobody is told before it is committed"]

    def _commit_ids(self, words: list[str], options: dict[str, str]) -> list[str]:
        assert self.decided is not None
        block = self.decided
        self._make([block.change])
        return [f"is given {block.first} to {block.first + block.count - 1}"]

    def _show(self, words: list[str], options: dict[str, str]) -> list[str]:
        return [f"{word}: {state(self._partition(word)[2])}" for word in words]

    def _partition(self, word: str) -> tuple[str, int, PartitionInfo]:
        name, _, index = word.rpartition("-")
        return name, int(index), self.image.topics[name].partitions[int(index)]


def directories(word: str) -> tuple[bytes, ...]:
    return tuple(each.encode().ljust(16) for each in word.split(",") if each)


def numbers(word: str) -> list[int]:
    return [int(each) for each in word.split(",")]
