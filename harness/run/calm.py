"""The calm phase after the faults: waits for every replica and moves every leadership once.

Each log is then read back from another node than the one that acknowledged its records. A record
that only one node ever had cannot pass for replicated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from harness.client.driver import place_of
from harness.cluster import Cluster, NewTopic, PartitionState
from harness.cluster.errors import NoAnswerError, NotInTimeError, RefusedError
from harness.cluster.parts import Elections
from harness.cluster.waiting import wait_until
from harness.doubts import Doubt, DoubtKind
from harness.errors import EnvironmentFailure
from harness.run.clients import Unsettled

_ISR_WITHIN_S = 60.0
_LED_WITHIN_S = 15.0
_ROTATED_WITHIN_S = 60.0
"""For all partitions together; a request that times out is tried on the next node."""
_MOVES_AT_ONCE = 4
"""Each move runs a command on a host."""
_ASK_AGAIN_S = 0.3
_SHOWN = 3


async def cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait until each has ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def doubts_about_replicas(cluster: Cluster, topics: Sequence[str]) -> list[Doubt]:
    """Wait until all replicas are in sync; a doubt on a timeout."""

    async def all_in_sync() -> bool:
        for topic in topics:
            try:
                partitions = await cluster.partitions(topic)
            except (EnvironmentFailure, OSError) as failure:
                # Any failure counts as "not yet". A wait that ended early would judge an
                # unavailable cluster too early, as unknown.
                raise NoAnswerError(str(failure)) from failure
            for partition in partitions:
                if partition.leader is None or set(partition.isr) != set(partition.replicas):
                    return False
        return True

    try:
        await wait_until(
            all_in_sync,
            within_s=_ISR_WITHIN_S,
            what="every replica is in sync",
            every_s=_ASK_AGAIN_S,
        )
    except NotInTimeError as late:
        return [Doubt(DoubtKind.OUT_OF_SYNC, detail=str(late))]
    return []


def why_not_rotated(cluster: Cluster) -> str | None:
    """Reason why leaderships are not moved, or None."""
    system = cluster.system
    if system.leaders is None:
        return f"{system.name} has no leaders to move: every log is read where it was written"
    if system.elections is None or system.reassignment is None:
        return f"{system.name} cannot move leaders: every log is read from its last leader"
    return None


async def rotate_leaders(cluster: Cluster, topics: Sequence[str]) -> list[Doubt]:
    """Make the next replica of each partition its leader; a doubt for each failure.

    A system without leaders has nothing to move and gives no doubt. A system whose leaders
    cannot be moved gives one: a record that only the leader has would pass for replicated.
    """
    some_at_once = asyncio.Semaphore(_MOVES_AT_ONCE)
    elections, reassignment = cluster.system.elections, cluster.system.reassignment

    async def move(topic: str, partition: PartitionState) -> Doubt | None:
        replicas = list(partition.replicas)
        if partition.leader is None or len(replicas) < 2:
            return None
        if elections is None or reassignment is None:
            return Doubt(
                DoubtKind.LEADER_NOT_MOVED,
                f"{topic}-{partition.index}",
                why_not_rotated(cluster) or "",
            )
        # A leader that is no replica any more may lead for a moment; then any replica will do.
        at = replicas.index(partition.leader) + 1 if partition.leader in replicas else 0
        order = replicas[at:] + replicas[:at]
        index = partition.index

        async def is_led_so() -> bool:
            return await cluster.leader(topic, index) == order[0]

        try:
            async with some_at_once:
                await reassignment.reassign(topic, index, order)
                await _elect(elections, topic, index)
            what = f"{order[0]} leads {topic}-{index}"
            await wait_until(is_led_so, within_s=_LED_WITHIN_S, what=what, every_s=_ASK_AGAIN_S)
        except (EnvironmentFailure, OSError) as failure:
            detail = f"{order[0]} did not become its leader: {failure}"
            return Doubt(DoubtKind.LEADER_NOT_MOVED, f"{topic}-{index}", detail)
        return None

    try:
        found = [(topic, each) for topic in topics for each in await cluster.partitions(topic)]
    except (EnvironmentFailure, OSError) as silence:
        return [Doubt(DoubtKind.LEADER_NOT_MOVED, "a partition", str(silence))]
    moves = [asyncio.create_task(move(topic, partition)) for topic, partition in found]
    try:
        _, late = await asyncio.wait(moves, timeout=_ROTATED_WITHIN_S) if moves else ((), ())
    finally:
        # No task may query the cluster after the run was interrupted and took it down.
        await cancelled(moves)
    doubts = [task.result() for task in moves if task not in late]
    if late:
        detail = f"no answer within {_ROTATED_WITHIN_S:g} s"
        doubts.append(Doubt(DoubtKind.LEADER_NOT_MOVED, f"{len(late)} partitions", detail))
    return [doubt for doubt in doubts if doubt is not None]


async def _elect(elections: Elections, topic: str, index: int) -> None:
    """Ask for an election, again while it is refused or not answered.

    Brokers that were all frozen describe the ISR of before at first, and then fence each other for
    a moment. A request under way is not cancelled: it may be tried on one node after the other.
    """
    loop = asyncio.get_running_loop()
    give_up_s = loop.time() + _LED_WITHIN_S
    while True:
        try:
            return await elections.elect(topic, index)
        except (NoAnswerError, RefusedError):
            if loop.time() >= give_up_s:
                raise
        await asyncio.sleep(_ASK_AGAIN_S)


async def existing(cluster: Cluster, topics: Sequence[NewTopic], keys: Sequence[str]) -> list[str]:
    """The workload's keys whose partitions exist.

    A workload that adds partitions names all that may exist at the end. If no broker answers, the
    partitions of the beginning count; acknowledged keys are read back in any case.
    """
    begun_with = {topic.name: topic.partitions for topic in topics}
    counts: dict[str, int] = {}
    found = []
    for key in keys:
        place = place_of(key)
        if place.partition >= begun_with.get(place.topic, 0) and place.topic not in counts:
            try:
                counts[place.topic] = len(await cluster.partitions(place.topic))
            except (EnvironmentFailure, OSError):
                counts[place.topic] = begun_with.get(place.topic, 0)
        if place.partition < counts.get(place.topic, place.partition + 1):
            found.append(key)
    return found


def doubts_about_reading(left: Unsettled, within_s: float) -> list[Doubt]:
    doubts = []
    if left.unread:
        shown = ", ".join(
            f"{'all' if rest is None else f'{rest:,}'} of {key}"
            for key, rest in sorted(left.unread.items())[:_SHOWN]
        )
        detail = f"within {within_s:g} s; still unread: {shown}"
        doubts.append(Doubt(DoubtKind.NOT_READ_BACK, detail=detail))
    if left.unanswered:
        count, shown = len(left.unanswered), ", ".join(left.unanswered[:_SHOWN])
        detail = f"within {within_s:g} s ({count}): {shown}"
        doubts.append(Doubt(DoubtKind.UNANSWERED, detail=detail))
    return doubts
