"""The stages of a session by Spark's own figures: how many tasks, and how even they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FIRST = 4


@dataclass(frozen=True, slots=True)
class Stage:
    number: int
    name: str
    rows: int
    """Rows read from files or from other stages."""
    seconds: tuple[float, ...]
    """Duration of each task, in the order in which they began."""
    begun_s: float
    """Seconds since the epoch."""
    ended_s: float

    @property
    def warm(self) -> float:
        """The longest task but for the first few, which also start workers and compile."""
        return max(self.seconds[_FIRST:], default=max(self.seconds))

    @property
    def unevenness(self) -> float:
        """The longest task as a multiple of the median."""
        middle = median(self.seconds)
        return max(self.seconds) / middle if middle else 1.0

    def __str__(self) -> str:
        return (
            f"stage {self.number:>4}  {self.rows:>13,} rows  {len(self.seconds):>4} tasks  "
            f"{self.ended_s - self.begun_s:6.1f} s  busiest {max(self.seconds):6.2f} s  "
            f"median {median(self.seconds):6.2f} s  "
            f"{self.unevenness:5.1f}x  later ones {self.warm:6.2f} s  {_place(self.name)}"
        )


def stages(spark: SparkSession) -> Iterator[Stage]:
    """The stages that ran, in their order."""
    store = spark.sparkContext._jsc.sc().statusStore()
    listed = _each(store.stageList(None, False, False, _no_quantiles(spark), None))
    found = {}
    for data in listed:
        if data.numCompleteTasks():
            found[data.stageId()] = data
    for number, data in sorted(found.items()):
        tasks = sorted(
            _each(store.taskList(number, data.attemptId(), 1 << 20)),
            key=lambda task: task.launchTime().getTime(),
        )
        seconds = tuple(
            task.duration().get() / 1e3 for task in tasks if task.duration().isDefined()
        )
        if seconds:
            rows = data.inputRecords() + data.shuffleReadRecords()
            began, ended = (
                each.get().getTime() / 1e3
                for each in (data.submissionTime(), data.completionTime())
            )
            yield Stage(number, data.name(), rows, seconds, began, ended)


def _place(name: str) -> str:
    """`collect at /…/pipeline/lake.py:123`, short."""
    what, _, path = name.partition(" at ")
    return f"{what} at {'/'.join(path.split('/')[-2:])}"


def _no_quantiles(spark: SparkSession) -> Any:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return gateway.new_array(gateway.jvm.double, 0)


def _each(sequence: Any) -> Iterator[Any]:
    for at in range(sequence.size()):
        yield sequence.apply(at)
