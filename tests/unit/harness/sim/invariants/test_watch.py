"""The watcher itself: it looks where something happened, changes nothing, and ends the run."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from broker.network.interface import Address
from harness.native.client import Client
from harness.sim.invariants import Cost, invariants
from harness.sim.invariants.base import Invariant, InvariantBroken, Violation
from harness.sim.invariants.step import Step
from harness.sim.invariants.watch import Watch
from harness.sim.nodes import PORT, SimCluster
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation
from harness.sim.trace_sink import News
from tests.unit.harness.sim.invariants.cluster_by_hand import cluster_by_hand


class Remembering:
    """Notes what each step was about, and finds fault when it is told to."""

    name = "W-TEST"
    cost = Cost.CHEAP
    looks = 0

    def __init__(self, fault_at: str = "") -> None:
        self.steps: list[Step] = []
        self._fault_at = fault_at

    def check(self, step: Step) -> Violation | None:
        self.steps.append(step)
        if any(True for _ in step.of_kind(self._fault_at)):
            return step.broken(self.name, "told to")
        return None


def client_of(simulation: Simulation, cluster_size: int = 3) -> Client:
    return Client(
        simulation.network.of("c1"),
        [Address(f"n{number}", PORT) for number in range(1, cluster_size + 1)],
        random=simulation.decisions.random("client", "c1"),
        now_ms=lambda: 1_700_000_000_000,
    )


async def write(simulation: Simulation, count: int) -> None:
    client = client_of(simulation)
    await client.admin.create_topic("t", partitions=2, replication_factor=3)
    producer = client.producer()
    for number in range(count):
        await producer.send("t", number % 2, b"%d" % number)
    await client.close()


@contextmanager
def played(
    rules: list[Invariant], *, everywhere: bool = False, is_watched: bool = True
) -> Iterator[tuple[Simulation, Watch | None]]:
    with Simulation(3) as simulation:
        cluster = SimCluster(simulation, 3, {"min.insync.replicas": "2"})
        watch = Watch(cluster, rules, everywhere=everywhere) if is_watched else None

        async def main() -> None:
            await cluster.start()
            await SimProcess(simulation, "c1").start(write(simulation, 10))
            cluster["n1"].kill()
            await asyncio.sleep(3.0)
            cluster["n1"].start()
            await cluster["n1"].started()

        simulation.run(main(), deadline_s=120.0)
        yield simulation, watch


def test_a_run_is_the_same_with_and_without_a_watcher() -> None:
    digests = set()
    for is_watched, everywhere in ((False, False), (True, False), (True, True)):
        rules = invariants(Cost.EXPENSIVE)
        with played(rules, everywhere=everywhere, is_watched=is_watched) as (simulation, _):
            digests.add(simulation.trace.digest())
    assert len(digests) == 1


def test_a_sound_cluster_breaks_nothing_and_nearly_all_rules_had_something_to_look_at() -> None:
    with played(invariants(Cost.EXPENSIVE)) as (_, watch):
        assert watch is not None
        unused = [name for name, looks in watch.looks.items() if looks == 0]
        assert unused == [
            *("W-SNAP", "W-TXN", "W-PID", "W-MARK", "W-OPEN", "W-CMPEQ"),
            *("W-PLACE", "W-OFFMAT", "W-OWN", "W-GEN"),
        ]


def test_a_watcher_that_nobody_tells_anything_has_looked_at_nothing() -> None:
    with Simulation(1) as simulation:
        watch = Watch(SimCluster(simulation, 3), invariants(Cost.EXPENSIVE))
        assert set(watch.looks.values()) == {0}
        assert len(watch.looks) == 28


def test_the_expensive_can_be_left_out() -> None:
    left_out = {each.name for each in invariants()} - {each.name for each in invariants(Cost.CHEAP)}
    assert left_out == {"W-SMEQ", "W-OFFMAT", "W-OWN", "W-CMPEQ"}


def test_a_broken_rule_ends_the_run_and_tells_where() -> None:
    with Simulation(1) as simulation:
        cluster = SimCluster(simulation, 3)
        Watch(cluster, [Remembering("role")])
        with pytest.raises(InvariantBroken, match="W-TEST: told to") as caught:
            simulation.run(cluster.start(), deadline_s=60.0)
        violation = caught.value.violation
        row = simulation.trace.row(violation.row)
        assert row.kind == "role"
        assert row.time_ns / 1e9 == violation.time_s == simulation.now_s


def test_a_step_is_about_what_was_told_and_nothing_else() -> None:
    rule = Remembering()
    with played([rule]):
        appended = [
            step for step in rule.steps if [(each.kind, each.topic) for each in step.news] == [
                ("append", "t")
            ]
        ]  # fmt: skip
        assert appended
        for step in appended:
            (place,) = step.replicas
            assert place[0] == step.news[0].node
            assert place[1:] == ("t", step.news[0].partition)
            assert len(step.keys) == 1


def test_every_step_looks_at_all_replicas_if_asked_to() -> None:
    rule = Remembering()
    with played([rule], everywhere=True):
        # Three replicas of two partitions and of the metadata.
        assert max(len(step.replicas) for step in rule.steps) == 9


def test_a_look_comes_after_the_callback_and_sees_all_of_its_news() -> None:
    rule = Remembering()
    with cluster_by_hand(rule) as cluster:
        before = len(rule.steps)

        async def tell_twice() -> None:
            for kind in ("one", "two"):
                cluster.watch.hear(News(0, "n1", kind, "t", 0, None, None, ""))
                assert len(rule.steps) == before

        cluster.run(tell_twice())
        assert [each.kind for each in rule.steps[before].news] == ["one", "two"]


def test_what_a_dead_node_left_open_is_forgotten() -> None:
    rule = Remembering()
    with cluster_by_hand(rule) as cluster:
        cluster.partition(1).log.is_changing = True
        cluster.tell("append", 1)
        assert not rule.steps[-1].replicas
        cluster.cluster["n1"].kill()
        cluster.tell("append", 2)
        assert list(rule.steps[-1].replicas) == [("n2", "t", 0)]


def test_a_topic_that_is_made_again_under_its_name_owes_nothing_to_the_first_one() -> None:
    with Simulation(4) as simulation:
        cluster = SimCluster(simulation, 3, {"min.insync.replicas": "2"})
        watch = Watch(cluster, invariants(Cost.EXPENSIVE))

        async def twice() -> None:
            client = client_of(simulation)
            for count in (5, 2):
                await client.admin.create_topic("t", partitions=1, replication_factor=3)
                producer = client.producer()
                for number in range(count):
                    await producer.send("t", 0, b"%d of %d" % (number, count))
                await client.admin.delete_topic("t")
                await asyncio.sleep(1.0)

        async def main() -> None:
            await cluster.start()
            await SimProcess(simulation, "c1").start(twice())

        simulation.run(main(), deadline_s=60.0)
        assert watch.scene.decided.infos == {}
        assert watch.looks["W-CAND"] > 0


def test_a_replica_that_moved_away_and_came_back_has_another_log() -> None:
    with Simulation(5) as simulation:
        cluster = SimCluster(simulation, 4, {"min.insync.replicas": "2"})
        Watch(cluster, invariants(Cost.EXPENSIVE))
        held: list[list[int]] = []

        async def move() -> None:
            client = client_of(simulation, 4)
            await client.admin.create_topic("t", assignment={0: [1, 2, 3]})
            producer = client.producer()
            for replicas in ([1, 2, 4], [1, 2, 3]):
                for number in range(3):
                    await producer.send("t", 0, b"%d" % number)
                await client.admin.alter_partition_reassignments({("t", 0): replicas})
                await asyncio.sleep(5.0)
                view = await client.admin.describe_topic("t")
                held.append(sorted(view.partitions[0].replicas))

        async def main() -> None:
            await cluster.start()
            await SimProcess(simulation, "c1").start(move())

        simulation.run(main(), deadline_s=60.0)
        assert held == [[1, 2, 4], [1, 2, 3]]


def test_what_is_told_of_a_log_that_is_being_changed_is_weighed_when_it_can_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = Remembering()
    with cluster_by_hand(rule) as cluster:
        key = (cluster.partition(1).topic_id, 0)
        with monkeypatch.context() as patch:
            patch.setattr(cluster.watch.scene, "look", lambda *_: True)
            cluster.tell("role", 1, epoch=0)
        assert rule.steps[-1].at_stake == {}
        cluster.tell("append", 2)
        assert rule.steps[-1].at_stake == {key: None}
        cluster.tell("append", 2)
        assert rule.steps[-1].at_stake == {}
