"""Whatever happens in whatever order, the state of a partition keeps its promises."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from broker.controller.alter_partition import IsrMember, IsrRequest, alter_partition
from broker.controller.balance import balance_leaders
from broker.controller.broker_events import fence_brokers, unregister_broker
from broker.controller.elect_leaders import ElectionType, elect_leader
from broker.controller.heartbeat import Heartbeat, answer_heartbeat
from broker.controller.reassignment import reassign
from broker.controller.registration import Registration, register_broker
from broker.controller.replica_directories import Lying, assign_directories
from broker.controller.rules_change import follow_new_rules
from broker.controller.topic_rules import TopicRules
from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import Change
from broker.metadata.image import Image
from broker.metadata.partition_info import NO_LEADER, RECOVERED, PartitionInfo
from broker.protocol.errors import KafkaError
from tests.unit.broker.controller.clusters import TOPIC_ID, cluster, partition, sessions

BROKERS = (1, 2, 3, 4)
DIRECTORIES = (b"a" * 16, b"b" * 16)


class Life:
    """A cluster to which one thing after the other happens, and who lost what meanwhile."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rules = TopicRules(
            min_isr=self.random.randint(1, 3),
            unclean=self.random.random() < 0.2,
        )
        self.image = cluster(
            BROKERS,
            *(partition(self.random.sample(BROKERS, self.random.randint(1, 4))) for _ in range(3)),
        )
        self.liveness = sessions(self.image)
        self.incarnation = 0
        self.vouched_for: list[int] = []  # by the leader, in the last event
        self.events = [
            self.fence,
            self.restart,
            self.restart,
            self.beat,
            self.beat,
            self.beat,
            self.alter,
            self.alter,
            self.alter,
            self.elect,
            self.reassign,
            self.balance,
            self.unregister,
            self.configure,
            self.assign,
            self.fail_or_heal,
        ]

    def rules_of(self, topic: str) -> TopicRules:
        return self.rules

    def some_broker(self) -> int:
        return self.random.choice(BROKERS)

    def fence(self) -> list[Change]:
        known = [each for each in BROKERS if each in self.image.brokers]
        gone = self.random.sample(known, self.random.randint(0, len(known)))
        return fence_brokers(self.image, gone, self.rules_of)

    def restart(self) -> list[Change]:
        broker_id = self.some_broker()
        known = self.image.brokers.get(broker_id)
        clean = known is not None and self.random.random() < 0.5
        self.incarnation += 1
        wanted = Registration(
            broker_id=broker_id,
            incarnation_id=self.incarnation.to_bytes(16, "big"),
            endpoints=(Endpoint("PLAINTEXT", "n", 9092),),
            log_dirs=self.some_directories(),
            previous_broker_epoch=known.broker_epoch if known and clean else -1,
        )
        now = self.random.choice([0.0, 1000.0])
        return register_broker(
            self.image, self.liveness, wanted, now=now, metadata_end=0, rules_of=self.rules_of
        ).changes

    def some_directories(self) -> tuple[bytes, ...]:
        return tuple(self.random.sample(DIRECTORIES, self.random.randint(0, 2)))

    def assign(self) -> list[Change]:
        broker_id = self.some_broker()
        known = self.image.brokers.get(broker_id)
        asked = Lying(self.random.choice(DIRECTORIES), TOPIC_ID, self.random.randrange(3))
        epoch = known.broker_epoch if known else 0
        return [*assign_directories(self.image, broker_id, epoch, [asked], self.rules_of).changes]

    def fail_or_heal(self) -> list[Change]:
        return self.beat(self.some_directories())

    def beat(self, offline: tuple[bytes, ...] | None = None) -> list[Change]:
        broker_id = self.some_broker()
        known = self.image.brokers.get(broker_id)
        if offline is None:
            offline = known.offline_dirs if known else ()
        said = Heartbeat(
            broker_id=broker_id,
            broker_epoch=known.broker_epoch if known else 0,
            applied_end=100,
            want_fence=self.random.random() < 0.1,
            want_shut_down=self.random.random() < 0.1,
            offline_dirs=offline,
        )
        return answer_heartbeat(
            self.image, self.liveness, said, now=0.0, metadata_end=0, rules_of=self.rules_of
        ).changes

    def alter(self) -> list[Change]:
        index = self.random.randrange(3)
        info = self.image.topics["t"].partitions[index]
        leader = self.image.brokers.get(info.leader)
        others = [each for each in info.replicas if each != info.leader]
        members = [info.leader, *self.random.sample(others, self.random.randint(0, len(others)))]
        request = IsrRequest(
            broker_id=info.leader,
            broker_epoch=leader.broker_epoch if leader else 0,
            topic_id=TOPIC_ID,
            index=index,
            leader_epoch=info.leader_epoch,
            partition_epoch=info.partition_epoch - (self.random.random() < 0.1),
            new_isr=[IsrMember(each) for each in members],
        )
        altered = alter_partition(self.image, request, self.rules_of)
        self.vouched_for = members
        return [*altered.changes]

    def elect(self) -> list[Change]:
        kind = self.random.choice(list(ElectionType))
        return [elect_leader(self.image, "t", self.random.randrange(3), kind, self.rules_of)]

    def reassign(self) -> list[Change]:
        target = self.random.sample(BROKERS, self.random.randint(0, 4)) or None
        return [*reassign(self.image, "t", self.random.randrange(3), target, self.rules_of)]

    def balance(self) -> list[Change]:
        return [*balance_leaders(self.image, 10, self.rules_of)]

    def unregister(self) -> list[Change]:
        return unregister_broker(self.image, self.some_broker(), self.rules_of)

    def configure(self) -> list[Change]:
        self.rules = replace(self.rules, min_isr=self.random.randint(1, 3))
        return [*follow_new_rules(self.image, self.rules_of)]

    def step(self) -> str:
        event = self.random.choice(self.events)
        before = self.image.copy()
        self.vouched_for = []
        try:
            changes = event()
        except KafkaError:
            return f"{event.__name__} refused"
        for change in changes:
            self.image.apply(change)
        for old, info in zip(
            before.topics["t"].partitions, self.image.topics["t"].partitions, strict=True
        ):
            self.check(old, info)
        return event.__name__

    def check(self, old: PartitionInfo, info: PartitionInfo) -> None:
        problems = f"{info} after {old} with {self.rules}"
        assert set(info.isr) <= set(info.replicas), problems
        assert set(info.elr) <= set(info.replicas), problems
        assert not set(info.elr) & set(info.isr), problems
        assert len(set(info.replicas)) == len(info.replicas) > 0, problems
        assert (info.leader in info.isr) if info.isr else info.leader == NO_LEADER, problems
        assert all(self.image.is_active(each, info.directory_of(each)) for each in info.isr)
        assert {each for each, _ in info.directories} <= set(info.replicas), problems
        if len(info.isr) >= self.rules.min_isr_of(len(info.replicas)):
            assert info.elr == (), problems
        assert info.leader_epoch >= old.leader_epoch, problems
        if info != old:
            assert info.partition_epoch == old.partition_epoch + 1, problems
        if info.leader != old.leader:
            assert info.leader_epoch == old.leader_epoch + 1, problems
        # Whoever leads now was in sync or eligible, or else it is said that it has to recover.
        is_trusted = info.leader in (NO_LEADER, *old.isr, *old.elr, *self.vouched_for)
        assert is_trusted or info.leader_recovery_state != RECOVERED, problems
        assert (info.last_known_elr == ()) or info.leader == NO_LEADER, problems
        assert set(info.adding_replicas) | set(info.removing_replicas) <= set(info.replicas)


def play(seed: int, steps: int = 150) -> tuple[Image, list[str]]:
    life = Life(seed)
    return life.image, [life.step() for _ in range(steps)]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_life_keeps_the_promises(seed: int) -> None:
    play(seed)


def test_a_life_is_the_same_each_time() -> None:
    (one, events), (other, same_events) = play(3), play(3)
    assert events == same_events
    assert one.digest() == other.digest()


def test_every_kind_of_event_succeeds_somewhere() -> None:
    happened = {event for seed in range(40) for event in play(seed, 60)[1]}
    assert {each.__name__ for each in Life(0).events} <= happened
