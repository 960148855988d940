"""retention: deletes the beginnings of logs now, under load.

Retention by time or size depends on the brokers' clocks and on the contents of segments. A clock
fault could make it delete records that no client has read, and the run could not judge that. So the
nemesis uses DeleteRecords, which deletes exactly up to an offset that the clients have read
(`Scene.read_to`).
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
class RetentionFaults:
    """Deletes the beginnings of logs, only as far as the clients have read them."""

    name: str = "retention"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (DeleteRecords,)
    variants: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[Part]] = frozenset({"retention"})

    def __post_init__(self) -> None:
        if self.target:
            raise ValueError("retention takes no target: it strikes any topic of the workload")

    def why_not(self, cluster: Cluster) -> str | None:
        return None

    def why_never(self, ground: Ground) -> str | None:
        if all(is_compacting(each) for each in ground.topic_configs.values()):
            return "the workload has only compacted topics, which keep their records; try -w queue"
        if not ground.is_polled:
            return (
                "the workload does not poll under load, so no record is known to have been read; "
                "try -w queue"
            )
        return None

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        read = scene.read_to()
        possible: dict[str, dict[str, int]] = {}
        # Brokers refuse DeleteRecords for a compacted topic.
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
            raise NothingToStrikeError("no stored record has been read yet")
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
            # A stored schedule was chosen by what the clients of another run had read.
            if read.get(f"{fault.topic}-{index}", 0) < offset:
                raise NothingToStrikeError(
                    f"{fault.topic}-{index} has not been read up to offset {offset}"
                )
        begins = await retention.log_starts(fault.topic)
        due = {
            index: offset for index, offset in before.items() if begins.get(index, offset) < offset
        }
        if not due:
            raise NothingToStrikeError(
                f"the logs of {fault.topic} already begin at these offsets or later"
            )
        await retention.delete_records(fault.topic, due)
        starts = await retention.log_starts(fault.topic)
        for index, offset in due.items():
            # Exactly there, because regular retention deletes whole segments. If another fault is
            # in force, a new leader may not know the deletion.
            if index not in starts:
                raise NoAnswerError(f"the start offset of {fault.topic}-{index} is unknown")
            if starts[index] != offset:
                manner = "still begins" if starts[index] < offset else "begins"
                found = f"{fault.topic}-{index} {manner} at offset {starts[index]}"
                raise missed(scene, fault, f"{found}, not at {offset}")
        return "; ".join(
            f"{fault.topic}-{index} begins at offset {starts[index]}, before at {begins[index]}"
            for index in due
        )

    async def heal(self, scene: Scene, fault: Fault) -> None:
        """Does nothing: the clients had read all deleted records."""
