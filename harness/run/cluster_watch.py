"""Writes down, while a run goes on, who leads each partition, who is in sync, and who decides.

Every half a second all nodes are asked at once; what changed since becomes a line of
`cluster.jsonl`. A node that does not answer in time is left out. What is written is what the nodes
*say*, seen up to half a second after it came about; no verdict rests on it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from harness.cluster import Cluster, Node
from harness.cluster.capabilities import Clocks
from harness.errors import EnvironmentFailure
from harness.wire.cluster_state import LedPartition, QuorumLeader

_LOG = logging.getLogger(__name__)
NAME = "cluster.jsonl"
_EVERY_S = 0.5
_MEASURE_EVERY_S = 1.0
_ANSWER_WITHIN_S = 0.4
_CLOCK_ERROR_S = 0.01
"""Whoever looks at two clocks does so one after the other."""


@dataclass(slots=True)
class ClusterLog:
    """The lines. Leader epochs never go back: an answer of an older one is a node behind."""

    out: TextIO
    now_ns: Callable[[], int]
    node_of: Callable[[int], Node]
    elections: int = 0
    """How often another node came to lead a partition."""
    _led: dict[str, LedPartition] = field(default_factory=dict)
    _leaders: dict[str, int] = field(default_factory=dict)
    """Who led last, by key: between two leaders there is often none."""
    _quorum: QuorumLeader | None = None
    _clocks: dict[Node, float] = field(default_factory=dict)

    def heard(self, answers: Mapping[Node, Mapping[str, LedPartition]]) -> None:
        """Of one round of questions."""
        time_ns = self.now_ns()
        for key, (node, led) in sorted(agreed(answers).items()):
            before = self._led.get(key)
            if led == before or (before is not None and led.epoch < before.epoch):
                continue
            self._led[key] = led
            if led.leader_id is not None:
                self.elections += self._leaders.get(key, led.leader_id) != led.leader_id
                self._leaders[key] = led.leader_id
            self._write(
                time_ns,
                node,
                key=key,
                leader=None if led.leader_id is None else self.node_of(led.leader_id),
                epoch=led.epoch,
                replicas=[self.node_of(each) for each in led.replica_ids],
                isr=[self.node_of(each) for each in led.isr_ids],
            )

    def heard_quorum(self, node: Node, quorum: QuorumLeader) -> None:
        before = self._quorum
        if quorum == before or (before is not None and quorum.epoch < before.epoch):
            return
        self._quorum = quorum
        leader = None if quorum.leader_id is None else self.node_of(quorum.leader_id)
        self._write(self.now_ns(), node, controller=leader, epoch=quorum.epoch)

    def measured(self, node: Node, offset_s: float) -> None:
        if abs(offset_s - self._clocks.get(node, 0.0)) > _CLOCK_ERROR_S:
            # Adding nothing makes a plain 0 of its negative twin.
            offset_s = self._clocks[node] = round(offset_s, 3) + 0.0
            self._write(self.now_ns(), node, clock_offset_s=offset_s)

    def _write(self, time_ns: int, node: Node, **told: Any) -> None:
        self.out.write(json.dumps({"time_ns": time_ns, "node": node, **told}) + "\n")
        self.out.flush()


def agreed(
    answers: Mapping[Node, Mapping[str, LedPartition]],
) -> dict[str, tuple[Node, LedPartition]]:
    """Of each key what most of those say who know the latest epoch, and one who says so."""
    found = {}
    for key in {key for answer in answers.values() for key in answer}:
        told = {node: answer[key] for node, answer in answers.items() if key in answer}
        latest = max(each.epoch for each in told.values())
        votes = Counter(each for each in told.values() if each.epoch == latest)
        # With equal votes the first node's word counts, so that it is the same in each round.
        chosen = max(votes.values())
        node = next(node for node in sorted(told) if votes[told[node]] == chosen)
        found[key] = (node, told[node])
    return found


class ClusterWatch:
    def __init__(
        self, cluster: Cluster, topics: Sequence[str], log: ClusterLog, clocks: Clocks | None
    ) -> None:
        """`clocks` are looked at, too, if given."""
        state = cluster.system.state
        self._log = log
        self._topics = topics
        self._clocks = clocks
        self._nodes = cluster.nodes
        self._lines = {} if state is None else {one: state.state_line(one) for one in self._nodes}
        self._rounds = 0

    async def watch(self) -> None:
        """Until it is cancelled; at least one of state and clocks is there to look at."""
        async with asyncio.TaskGroup() as group:
            if self._lines:
                group.create_task(_again_and_again(self.round, _EVERY_S))
            if self._clocks is not None:
                # On its own: a look at a clock may be a command on another machine.
                group.create_task(_again_and_again(self._measure, _MEASURE_EVERY_S))

    async def round(self) -> None:
        nodes = list(self._lines)
        told = await asyncio.gather(
            *(self._lines[node].leaders(self._topics, _ANSWER_WITHIN_S) for node in nodes)
        )
        answers = {node: one for node, one in zip(nodes, told, strict=True) if one is not None}
        self._log.heard(answers)
        self._rounds += 1
        if self._rounds % 2 == 0:
            await self._ask_about_quorum([*answers])

    async def _ask_about_quorum(self, awake: Sequence[Node]) -> None:
        """One of those that answer, each in its turn: the answer may come from the controller."""
        if awake:
            node = awake[self._rounds // 2 % len(awake)]
            found = await self._lines[node].quorum(_ANSWER_WITHIN_S)
            if found is not None:
                self._log.heard_quorum(node, found)

    async def _measure(self) -> None:
        assert self._clocks is not None
        for node in self._nodes:
            try:
                self._log.measured(node, await self._clocks.offset_s(node))
            except (EnvironmentFailure, OSError):
                continue

    async def close(self) -> None:
        for line in self._lines.values():
            await line.close()


async def _again_and_again(act: Callable[[], Awaitable[None]], every_s: float) -> None:
    loop = asyncio.get_running_loop()
    due_s = loop.time()
    while True:
        await act()
        due_s = max(due_s + every_s, loop.time())
        await asyncio.sleep(due_s - loop.time())


@asynccontextmanager
async def watched(
    cluster: Cluster,
    topics: Sequence[str],
    directory: Path,
    now_ns: Callable[[], int],
    *,
    has_clock_faults: bool,
) -> AsyncIterator[ClusterLog | None]:
    """`now_ns` is the history's time. None for a system that tells nothing of its state."""
    state, clocks = cluster.system.state, cluster.clock if has_clock_faults else None
    if state is None and clocks is None:
        yield None
        return
    with (directory / NAME).open("w", encoding="utf-8") as out:
        log = ClusterLog(out, now_ns, str if state is None else state.node_of)
        watch = ClusterWatch(cluster, topics, log, clocks)
        task = asyncio.create_task(watch.watch())
        try:
            yield None if state is None else log
        finally:
            task.cancel()
            (ended,) = await asyncio.gather(task, return_exceptions=True)
            if not isinstance(ended, asyncio.CancelledError):
                _LOG.warning("%s ended early: %r; no verdict uses it", NAME, ended)
            await watch.close()
