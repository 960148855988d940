"""One figure: its name, what it says, its columns, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from pipeline.schema import RUN, Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from pipeline.figures.material import Material


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    about: str
    """One sentence, which the terminal shows above the rows."""
    columns: tuple[Column, ...]
    compute: Callable[[Material], DataFrame]
    """The rows, with these columns in any order."""
    order: tuple[str, ...]
    """Columns by which the shown rows are sorted; `-name` sorts in descending order."""
    is_shown: bool = True
    """Whether the terminal shows it. Figures with a row for each run are too long for that."""

    def struct(self) -> StructType:
        """The columns for Spark, each with its sentence as a comment."""
        from pyspark.sql.pandas.types import from_arrow_schema

        struct = from_arrow_schema(
            pa.schema([pa.field(each.name, each.type) for each in self.columns])
        )
        for field, column in zip(struct.fields, self.columns, strict=True):
            field.nullable = True
            # DESCRIBE shows it beside the column.
            field.metadata = {"comment": column.about}
        return struct

    def frame(self, material: Material) -> DataFrame:
        """The rows with exactly these columns, of these types."""
        from pyspark.sql import functions as F  # noqa: N812

        found = self.compute(material)
        return found.select(
            *(F.col(each.name).cast(each.dataType).alias(each.name) for each in self.struct())
        )


def text(name: str, about: str) -> Column:
    return Column(name=name, type=pa.string(), about=about)


def count(name: str, about: str) -> Column:
    return Column(name=name, type=pa.int64(), about=about)


def number(name: str, about: str) -> Column:
    return Column(name=name, type=pa.float64(), about=about)


def flag(name: str, about: str) -> Column:
    return Column(name=name, type=pa.bool_(), about=about)


def moment(name: str, about: str) -> Column:
    return Column(name=name, type=pa.timestamp("us", "UTC"), about=about)


def texts(name: str, about: str) -> Column:
    return Column(name=name, type=pa.list_(pa.string()), about=about)


OF_RUN: Final = RUN
RELEASE: Final = text("release", "the version that was tested, or `unknown`")
FAULTS: Final = text(
    "faults", "nemeses with a fault in force, as `kill+partition`; empty outside of faults"
)
