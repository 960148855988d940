"""When all is healed each partition must take a write: tried by clients, written down as data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from harness.client.base import Completion, Invocation
from harness.cluster import Cluster, PartitionState
from harness.run.clients import Clients, Tried, tried_by_all
from harness.run.probing import WRITE_WITHIN_S, with_writes
from tests.unit.harness.run.test_life import STEP_NS, Asks, Story, ok

WITHIN_NS = 1000 * STEP_NS
S = 1_000_000_000


def probed(
    answer: Callable[[Invocation], Completion], *keys: str
) -> tuple[dict[str, Tried], Story]:
    story = Story(answer)

    async def main() -> dict[str, Tried]:
        await story.life.open()
        return await story.life.probe(keys or ("t-0", "t-1", "other-0"), 0, WITHIN_NS)

    return asyncio.run(main()), story


def refusing(
    *refused: str, with_: str = "fail", hears: bool = True
) -> Callable[[Invocation], Completion]:
    def answer(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            return ok(invocation) if hears else Completion("fail", None, "TIMED_OUT: no")
        if invocation.value[0][1] in refused:
            return Completion(with_, invocation.value, "TIMED_OUT: no")  # type: ignore[arg-type]
        return ok(invocation)

    return answer


def test_one_write_to_each_of_its_own_keys_is_enough() -> None:
    tried, story = probed(ok)
    assert {key: (each.tries, each.acknowledged) for key, each in tried.items()} == {
        "t-0": (1, 1),
        "t-1": (1, 1),
    }
    assert all(each.is_heard and each.took_ns == each.until_ns - each.began_ns > 0
               for each in tried.values())  # fmt: skip
    assert [row[3] for row in story.rows] == ["send"] * 4


def test_a_key_that_takes_none_is_tried_until_the_bound_and_keeps_no_other_waiting() -> None:
    tried, story = probed(refusing("t-0"))
    assert tried["t-1"].acknowledged == 1
    assert tried["t-1"].tries == 1
    assert not tried["t-0"].acknowledged
    assert tried["t-0"].took_ns is None
    assert tried["t-0"].tries > 3
    assert WITHIN_NS <= tried["t-0"].until_ns < 2 * WITHIN_NS
    assert tried["t-0"].error == "TIMED_OUT: no"
    # The other one's acknowledgement shows that brokers answer.
    assert {row[3] for row in story.rows} == {"send"}
    assert tried["t-0"].is_heard
    sent = [row[4][0][2] for row in story.rows if row[2] == "invoke"]
    assert len(sent) == len(set(sent)), "no value twice"


def test_one_that_comes_to_take_writes_is_not_late() -> None:
    answers = iter(["fail", "info", "ok"])

    def answer(invocation: Invocation) -> Completion:
        return Completion(next(answers), invocation.value)  # type: ignore[arg-type]

    tried, story = probed(answer, "t-1")
    assert (tried["t-1"].tries, tried["t-1"].acknowledged) == (3, 1)
    # Each time by another client: the one before may be what keeps the write from getting through.
    assert [row[1] for row in story.rows if row[2] == "invoke"] == [1, 5, 9]
    assert story.doors == ["open", "close", "open", "close", "open"]


def test_the_last_questions_are_about_what_the_workload_drew() -> None:
    class WritesAndAsks(Asks):
        def drained_keys(self, client: int) -> Sequence[str]:
            return ["t-0"]

    story = Story(ok, WritesAndAsks())

    async def main() -> None:
        await story.life.open()
        await story.life.probe(["t-0"], 0, WITHIN_NS)
        await story.life.drain({}, 10_000 * S)

    asyncio.run(main())
    asked = [row[4]["topic"] for row in story.rows if row[3] == "describe" and row[2] == "invoke"]
    assert asked == ["1-0-0", "1-0-1"]


def test_whether_brokers_answer_at_all_is_asked_where_no_write_went_well() -> None:
    for hears in (True, False):
        tried, story = probed(refusing("t-0", "t-1", with_="info", hears=hears))
        assert {each.is_heard for each in tried.values()} == {hears}
        questions = [row[4] for row in story.rows if row[3] == "end-offsets" and row[2] == "invoke"]
        assert questions == ([["t-0"]] if hears else [["t-0"], ["t-1"]])


def test_a_client_that_stood_still_tries_again() -> None:
    stood_still = False

    def answer(invocation: Invocation) -> Completion:
        nonlocal stood_still
        if stood_still:
            return ok(invocation)
        stood_still = True
        story.life._clock.time_ns += WITHIN_NS + STEP_NS  # type: ignore[attr-defined]
        return Completion("info", invocation.value, "TIMED_OUT: no")

    story = Story(answer)

    async def main() -> dict[str, Tried]:
        await story.life.open()
        return await story.life.probe(["t-0"], 0, WITHIN_NS)

    tried = asyncio.run(main())["t-0"]
    assert (tried.tries, tried.acknowledged) == (2, 1)


def test_writes_that_take_long_do_not_hold_up_the_run() -> None:
    story: Story

    def slow(invocation: Invocation) -> Completion:
        story.life._clock.time_ns += WITHIN_NS * 3  # type: ignore[attr-defined]
        return Completion("fail", invocation.value)

    story = Story(slow)

    async def main() -> dict[str, Tried]:
        await story.life.open()
        return await story.life.probe(["t-0", "t-1"], 0, WITHIN_NS)

    tried = asyncio.run(main())
    assert {key: each.tries for key, each in tried.items()} == {"t-0": 1}


def test_one_acknowledgement_by_whichever_client_is_enough() -> None:
    refused = Tried(1, 40, 3, is_heard=True, error="TIMED_OUT: no")
    taken = Tried(2, 9, 1, 1, 7, True)
    found = tried_by_all([{"t-0": refused}, {"t-0": taken, "t-1": taken}, {"t-1": taken}], ["t-2"])
    assert found["t-0"] == Tried(1, 40, 3, 1, 7, True, "TIMED_OUT: no")
    assert (found["t-1"].acknowledged, found["t-1"].took_ns) == (2, 7)
    assert found["t-2"] == Tried(), "nobody came to try it"


class FakeCluster:
    """One topic of three partitions; n3 is silent when it is asked itself."""

    nodes = ("n1", "n2", "n3")

    def __init__(self) -> None:
        self.system: Any = self
        self.leaders: Any = self

    async def partitions(self, topic: str, *asking: str) -> list[PartitionState]:
        if "n3" in asking:
            raise OSError("no route")
        return [
            PartitionState(index=index, leader="n1", replicas=self.nodes, isr=("n1", "n2"))
            for index in range(3)
        ]


class FakeClients:
    def __init__(self, **tried: Tried) -> None:
        self._tried = {key.replace("_", "-"): each for key, each in tried.items()}
        self.asked: list[str] | None = None

    async def probe(self, keys: Sequence[str], within_s: float) -> Mapping[str, Tried]:
        assert within_s == WRITE_WITHIN_S
        self.asked = list(keys)
        return {key: self._tried[key] for key in keys}


CALM = {
    "healed": True,
    "partitions": 3,
    "unwell": [{"partition": "t-1"}],
    "nodes": dict.fromkeys(FakeCluster.nodes, True),
}


async def seen(
    clients: FakeClients, cluster: FakeCluster | None = None, **more: Any
) -> dict[str, Any]:
    return await with_writes(
        cast("Cluster", cluster or FakeCluster()),
        cast("Clients", clients),
        {**CALM, **more},
        ["t-0", "t-1", "t-2", "u-0"],
        ["t"],
        min_isr=2,
        before=70,
    )


TAKEN = Tried(0, 4_000_000, 1, 1, 4_000_000, True)


async def test_how_long_each_partition_took_is_told_and_the_unwell_are_left_alone() -> None:
    clients = FakeClients(t_0=TAKEN, t_2=TAKEN, u_0=TAKEN)
    found = await seen(clients)
    assert clients.asked == ["t-0", "t-2", "u-0"]
    took = {"t-0": 0.004, "t-2": 0.004, "u-0": 0.004}
    assert found["writes"] == {"before": 70, "acknowledged": 3, "took_s": took, "late": []}
    assert found["nodes"] == CALM["nodes"]


async def test_one_that_took_none_in_time_is_told_with_what_the_cluster_says_of_it() -> None:
    refused = Tried(0, 31 * S, 3, is_heard=True, error="TIMED_OUT: no")
    slow = Tried(0, 33 * S, 4, 1, 33 * S, True)
    found = await seen(FakeClients(t_0=refused, t_2=slow, u_0=Tried()))
    first, second, third = found["writes"]["late"]
    assert first == {
        "partition": "t-0",
        "leader": "n1",
        "replicas": ["n1", "n2", "n3"],
        "isr": ["n1", "n2"],
        "min_isr": 2,
        "tries": 3,
        "tried_s": 31.0,
        "took_s": None,
        "heard": True,
        "error": "TIMED_OUT: no",
    }
    assert (second["partition"], second["took_s"]) == ("t-2", 33.0)
    assert (third["leader"], third["replicas"], third["tries"]) == (None, [], 0)
    assert found["nodes"] == {"n1": True, "n2": True, "n3": False}


async def test_nothing_is_tried_where_it_would_say_nothing() -> None:
    for more in ({"healed": False}, {"partitions": 0}):
        clients = FakeClients()
        assert "writes" not in await seen(clients, **more)
        assert clients.asked is None


async def test_without_leaders_each_key_is_written_to_and_any_node_may_serve_it() -> None:
    class Tiny(FakeCluster):
        async def partitions(self, topic: str, *asking: str) -> list[PartitionState]:
            return []

        async def is_well(self, node: str) -> bool:
            return True

    cluster, late = Tiny(), Tried(0, 31 * S, 3, is_heard=True)
    cluster.leaders = None
    clients = FakeClients(t_0=TAKEN, t_1=late, t_2=TAKEN, u_0=TAKEN)
    found = await seen(clients, cluster, partitions=0, unwell=[])
    assert clients.asked == ["t-0", "t-1", "t-2", "u-0"]
    assert found["partitions"] == 4
    (told,) = found["writes"]["late"]
    assert (told["leader"], told["isr"]) == (None, ["n1", "n2", "n3"])
