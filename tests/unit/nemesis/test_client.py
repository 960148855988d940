"""client: processes of clients that are gone or stand still, and clients cut off from all nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from harness.cluster.capabilities import ClientProcesses
from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import CLIENTS, Cut, Fault, KillClient, PauseClient, both_ways
from nemesis import parse
from nemesis.base import NothingToStrikeError
from tests.unit.nemesis.scenes import Stage, a_moment, mend, named, on_stage, strike


class Clients:
    """Five of them, who do what they are told unless they are `stubborn`."""

    def __init__(self) -> None:
        self.names: Sequence[str] = ("c1", "c2", "c3", "c4", "c5")
        self.is_over = False
        self.stubborn = ""
        self.down: set[str] = set()
        self.paused: set[str] = set()
        self.idling: dict[str, bool] = {}
        """By client: whether it has left its group before."""
        self.started: Counter[str] = Counter()

    def process(self, client: str) -> str:
        return f"process {self.started[client]}"

    async def kill(self, client: str) -> None:
        if self.stubborn != "kill":
            self.down.add(client)
            self.paused.discard(client)

    async def start(self, client: str) -> None:
        if self.stubborn != "start" and client in self.down:
            self.down.remove(client)
            self.started[client] += self.stubborn != "the same"

    async def pause(self, client: str) -> None:
        if self.stubborn == "gone":
            self.down.add(client)
        elif self.stubborn != "pause":
            self.paused.add(client)

    async def resume(self, client: str) -> None:
        if self.stubborn != "resume":
            self.paused.discard(client)

    async def idle(self, client: str, *, leaves: bool) -> None:
        if self.stubborn != "idle":
            self.idling[client] = leaves

    async def wake(self, client: str) -> None:
        self.idling.pop(client, None)

    async def is_idle(self, client: str) -> bool:
        return client in self.idling

    async def is_running(self, client: str) -> bool:
        return client not in self.down

    async def is_paused(self, client: str) -> bool:
        return client in self.paused


def with_clients(stage: Stage) -> Clients:
    clients = Clients()
    checked: ClientProcesses = clients
    stage.scene.clients = checked
    return clients


@on_stage(1, partitions=1)
async def test_the_killed_are_gone_until_others_take_their_place(stage: Stage) -> None:
    clients = with_clients(stage)
    faults, proofs = await strike(stage, "client:kill@majority")
    struck = [fault.client for fault in faults if isinstance(fault, KillClient)]
    assert len(struck) == 3
    assert proofs == [f"process 0 of {client} has ended" for client in struck]
    assert clients.down == set(struck)
    for text in (f"client:kill@{struck[0]}", f"client:pause@{struck[0]}"):
        with pytest.raises(NothingToStrikeError, match=f"not running: {struck[0]}"):
            await named(text).choose(stage.scene, a_moment(text), Random(1))
    for fault, said in ((faults[0], "is not running"), (paused(struck[0]), "cannot be paused")):
        with pytest.raises(NothingToStrikeError, match=said):
            await named("client").inject(stage.scene, fault)
    await mend(stage, "client:kill@majority", faults)
    assert clients.down == set()
    assert clients.started == Counter(struck)


@on_stage(1, partitions=1)
async def test_the_paused_stand_still_until_they_are_resumed(stage: Stage) -> None:
    clients = with_clients(stage)
    faults, proofs = await strike(stage, "client:pause@c2+c4")
    assert proofs == [f"every thread of {client} is stopped, process 0" for client in ("c2", "c4")]
    assert clients.paused == {"c2", "c4"}
    # A second pause of one of them outlasts the first.
    (again,), _ = await strike(stage, "client:pause@c2", seed=2)
    await mend(stage, "client:pause@c2+c4", faults)
    assert clients.paused == {"c2"}
    await mend(stage, "client:pause@c2", [again])
    assert clients.paused == set()


@on_stage(1, partitions=1)
async def test_a_kill_that_ends_a_pause_says_so(stage: Stage) -> None:
    clients = with_clients(stage)
    stopped, _ = await strike(stage, "client:pause@c2")
    killed, proofs = await strike(stage, "client:kill@c1+c2")
    assert proofs == [
        "process 0 of c1 has ended",
        "process 0 of c2 has ended, which also ended its pause",
    ]
    await mend(stage, "client:kill@c1+c2", killed)
    # Whoever took its place is at work.
    assert not clients.paused
    await mend(stage, "client:pause@c2", stopped)
    assert not clients.paused


@on_stage(3)
async def test_all_clients_are_cut_off_from_every_node(stage: Stage) -> None:
    with_clients(stage)
    (fault,), (proof,) = await strike(stage, "client:cut")
    nodes = ("n1", "n2", "n3")
    assert isinstance(fault, Cut)
    assert set(fault.links) == set(both_ways(*((CLIENTS, node) for node in nodes)))
    assert proof == "measured reachability: clients | n1 n2 n3"
    await mend(stage, "client:cut", [fault])
    assert (CLIENTS, "n1") in await stage.network.reachable()


@on_stage(1, partitions=1)
async def test_what_has_no_effect_is_missed(stage: Stage) -> None:
    clients = with_clients(stage)
    clients.stubborn = "kill"
    with pytest.raises(FaultMissedError, match="c1 still runs after it was killed"):
        await strike(stage, "client:kill@c1")
    clients.stubborn = "pause"
    with pytest.raises(FaultMissedError, match="c1 still runs after it was paused"):
        await strike(stage, "client:pause@c1", seed=2)


@on_stage(1, partitions=1)
async def test_one_that_is_killed_as_it_is_paused_is_not_missed(stage: Stage) -> None:
    with_clients(stage).stubborn = "gone"
    with pytest.raises(NothingToStrikeError, match="c1 ended before it was paused"):
        await strike(stage, "client:pause@c1")


@on_stage(1, partitions=1)
async def test_what_is_not_mended_is_told(stage: Stage) -> None:
    clients = with_clients(stage)
    (killed,), _ = await strike(stage, "client:kill@c1")
    (stopped,), _ = await strike(stage, "client:pause@c2")
    for stubborn, fault, said in (
        ("start", killed, "c1 does not run after it was started"),
        ("the same", killed, "c1 still has its old process after it was started"),
        ("resume", stopped, "c2 is still paused after it was resumed"),
    ):
        clients.stubborn = stubborn
        with pytest.raises(FaultMissedError, match=said):
            await named("client").heal(stage.scene, fault)
    # A run that is done with its clients has nothing to mend.
    clients.is_over = True
    await named("client").heal(stage.scene, stopped)


@on_stage(1, partitions=1)
async def test_whom_there_is_not_nobody_strikes(stage: Stage) -> None:
    with pytest.raises(NothingToStrikeError, match="no client has started yet"):
        await named("client:kill").choose(stage.scene, a_moment("c"), Random(1))
    await named("client").heal(stage.scene, paused("c1"))
    with_clients(stage)
    with pytest.raises(NothingToStrikeError, match="unknown client c9; the run has 5 clients"):
        await named("client:kill@c9").choose(stage.scene, a_moment("c"), Random(1))


@on_stage(1, partitions=1)
async def test_the_dice_cut_only_where_that_can_be_had(stage: Stage) -> None:
    with_clients(stage)
    stage.place.client_host = None
    assert named("client").why_not(stage.cluster) is None
    drawn = [
        await named("client").choose(stage.scene, a_moment("client"), Random(seed))
        for seed in range(20)
    ]
    assert {type(fault) for faults in drawn for fault in faults} == {KillClient, PauseClient}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "client:cut@c1",
            "client:cut takes no target, it cuts off all clients; "
            "to cut them off from one node, use partition:clients@",
        ),
        ("client:kill@n1", "unknown target 'n1' of client; choose one of one, minority"),
        ("client:kil", "unknown variant client:kil; did you mean kill?"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        parse(text)


def paused(client: str) -> Fault:
    return PauseClient(name="p", at_ms=0.0, client=client)
