"""retention: deletes the beginnings of logs now, in the middle of the load.

Retention by time or size would be asked for by configuration, and how far it goes is decided by
the brokers' clocks and by what is in a segment: a clock that another nemesis has put ahead would
delete what no client has read, and of that the run could say nothing. So the exact form of the same
deed is used, DeleteRecords: up to an offset that the run vouches for (`Scene.read_to`), and not one
record further.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.errors import NoAnswerError
from harness.cluster.parts import Part, the
from harness.schedule.faults import DeleteRecords, Fault
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene, missed
from nemesis.compact import is_compacted, is_compacting


@dataclass(frozen=True, slots=True)
class Retention:
    """Deletes the beginnings of logs, only as far as the clients have read them."""

    name: str = "retention"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (DeleteRecords,)
    variants: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[Part]] = frozenset({"retention"})

    def __post_init__(self) -> None:
        if self.target:
            raise ValueError("retention takes no target: it is for all topics of a workload")

    def why_not(self, cluster: Cluster) -> str | None:
        return None

    def why_never(self, ground: Ground) -> str | None:
        if all(is_compacting(each) for each in ground.topic_configs.values()):
            return "the workload has only compacted topics, which keep their records; try -w queue"
        if not ground.is_polled:
            return (
                "the workload never polls under load, so no record is known not to be needed any "
                "more; try -w queue"
            )
        return None

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        read = scene.read_to()
        possible: dict[str, dict[str, int]] = {}
        # A compacted topic keeps its records for ever, and brokers refuse to delete them.
        topics = [topic for topic in scene.topics if not is_compacted(scene, topic)]
        if not topics:
            raise NothingToStrikeError("the workload has only compacted topics")
        retention = the(scene.cluster.system.retention)
        for topic in topics:
            for index, start in (await retention.log_starts(topic)).items():
                read_to = read.get(f"{topic}-{index}", 0)
                if read_to > start:
                    before = dice.randint(start + 1, read_to)
                    possible.setdefault(topic, {})[str(index)] = before
        if not possible:
            raise NothingToStrikeError("no poll has returned anything yet that is still there")
        topic = dice.choice(sorted(possible))
        return (
            DeleteRecords(
                name=moment.name,
                at_ms=moment.at_ms,
                for_ms=moment.for_ms,
                topic=topic,
                before=possible[topic],
            ),
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, DeleteRecords)
        retention = the(scene.cluster.system.retention)
        before = {int(k): v for k, v in fault.before.items()}
        read = scene.read_to()
        for index, offset in before.items():
            # Of a run that is played again, this run has to vouch anew.
            if read.get(f"{fault.topic}-{index}", 0) < offset:
                raise NothingToStrikeError(
                    f"{fault.topic}-{index} has not been read up to {offset}, so it is kept"
                )
        before_deed = await retention.log_starts(fault.topic)
        due = {
            index: offset
            for index, offset in before.items()
            if before_deed.get(index, offset) < offset
        }
        if not due:
            raise NothingToStrikeError(f"{fault.topic} begins there already, or later")
        await retention.delete_records(fault.topic, due)
        starts = await retention.log_starts(fault.topic)
        for index, offset in due.items():
            # Just there: the topic's own retention deletes whole segments, and only them. Beside
            # another fault a leader that followed until now may not have heard of it.
            if index not in starts:
                raise NoAnswerError(f"nobody knows any more where {fault.topic}-{index} begins")
            if starts[index] != offset:
                manner = "still begins" if starts[index] < offset else "begins"
                why = f"{fault.topic}-{index} {manner} at {starts[index]}, not at {offset}"
                raise missed(scene, fault, why)
        shown = ", ".join(
            f"{fault.topic}-{index} begins at {starts[index]}, before at {before_deed[index]}"
            for index in due
        )
        return f"now {shown}"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """Nothing: what was deleted was not needed any more."""
