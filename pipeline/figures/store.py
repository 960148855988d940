"""Where figures are kept: LAKE/figures/NAME/build=ID, and a log that names the current build.

Each computation writes all figures anew, as one build. An unfinished build is not in the log, so
the build before it is read; its files are removed when a later build is finished.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from harness.errors import UsageFailure
from pipeline.figures.figure import Figure
from pipeline.figures.figures import FIGURES
from pipeline.figures.material import Material
from pipeline.lake import Lake
from pipeline.lake_log import Entry, LakeLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DIRECTORY: Final = "figures"
ROWS_MAX: Final = 1000
"""Most rows of a figure that come to the driver."""
_ROWS_OF_A_TASK: Final = 1_000_000
_PARTITIONS: Final = "spark.sql.shuffle.partitions"


class FigureStore:
    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.log = LakeLog(lake.spark, f"{lake.root}/{_DIRECTORY}")

    @cached_property
    def build(self) -> str | None:
        """The newest finished build, or None."""
        return max(self.log.snapshot().batches, default=None)

    @property
    def is_old(self) -> bool:
        """Whether the lake has changed since these figures were computed."""
        return self.build is not None and self.build < f"{self.lake.snapshot.number:012}"

    def require(self) -> None:
        """UsageFailure if no figures were computed yet."""
        self.lake.require()
        if self.build is None:
            raise UsageFailure(
                f"{self.lake.root} has no figures yet; harness lake tables computes them"
            )

    def read(self, name: str) -> DataFrame:
        assert self.build is not None
        return self._read(name, self.build)

    def views(self) -> None:
        """Every figure as a temporary view of its name, if there are any."""
        for name in FIGURES if self.build is not None else ():
            self.read(name).createOrReplaceTempView(name)

    def rewrite(self) -> Generator[Figure, None, None]:
        """Compute all figures anew; yields each figure before it is computed."""
        build = f"{self.lake.snapshot.number:012}-{uuid4().hex[:8]}"
        before, previous = self.log.snapshot(), self.build
        material = Material(self.lake, lambda name: self._read(name, build))
        with _partitions(self.lake.spark, _tasks(self.lake)), closing(material):
            for figure in FIGURES.values():
                yield figure
                frame = figure.frame(material)
                frame.write.mode("overwrite").parquet(self._path(figure.name, build))
        self.log.append(Entry(by="tables", adds=(build,), removes=tuple(before.batches)), before)
        # Other sessions may still read the build before this one.
        self._delete_all_but({build, previous})
        self.__dict__.pop("build", None)

    def _read(self, name: str, build: str) -> DataFrame:
        return self.lake.spark.read.schema(FIGURES[name].struct()).parquet(self._path(name, build))

    def _path(self, name: str, build: str) -> str:
        return f"{self.log.root}/{name}/build={build}"

    def _delete_all_but(self, kept: Iterable[str | None]) -> None:
        for name in FIGURES:
            for directory in list(self.log.directories(name)):
                if directory.removeprefix("build=") not in kept:
                    self.log.delete(name, directory)


def _tasks(lake: Lake) -> int:
    """Tasks of a shuffle, by the size of the lake: 200, the default, cost a small lake seconds."""
    rows = lake.table("runs").selectExpr("sum(operations + elements) AS rows").first()
    whole = (rows is not None and rows["rows"]) or 0
    return max(lake.spark.sparkContext.defaultParallelism, -(-int(whole) // _ROWS_OF_A_TASK))


@contextmanager
def _partitions(spark: SparkSession, count: int) -> Iterator[None]:
    before = str(spark.conf.get(_PARTITIONS))
    spark.conf.set(_PARTITIONS, count)
    try:
        yield
    finally:
        spark.conf.set(_PARTITIONS, before)


def rows_of(figure: Figure, frame: DataFrame) -> list[dict[str, Any]]:
    """The first rows in the figure's order."""
    from pyspark.sql import functions as F  # noqa: N812

    order = [F.desc(name[1:]) if name.startswith("-") else F.asc(name) for name in figure.order]
    return [row.asDict() for row in frame.orderBy(*order).limit(ROWS_MAX).collect()]
