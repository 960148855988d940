"""How a history that one task cannot hold is judged: a way for each model that has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from checkers.linear.keyed import KEYED
from pipeline.check.by_key.job import judged_by_key
from pipeline.check.cut.job import CutHistory, Uncut
from pipeline.check.cut.judge import judged_smaller
from pipeline.check.cut.stretches import CutSettings
from pipeline.check.cycles.judge import lists_in_parts
from pipeline.check.judge_run import Asked, contract_asked
from pipeline.session import batches_of_any_size

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOGS: Final = "kafka"
"""The model of every run with a plan, and of histories that name none."""


@dataclass(frozen=True, slots=True)
class PartSizes:
    task_max: int
    """Elements that one task may hold."""
    width: int = CutSettings().width
    """Offsets in a range of a log."""


class Stores(Protocol):
    """What keeps frames that the rows of a verdict are computed from."""

    def forget(self) -> None:
        """Free them."""


Judged = tuple[Stores | None, "DataFrame | Uncut"]
"""What to free after the rows of the verdict are written, and these rows, or why there are none."""
InParts = Callable[[Asked, "DataFrame", "DataFrame", PartSizes], Judged]
"""Of one run, its operations and its elements."""


def model_of(asked: Asked) -> str:
    return LOGS if asked.plan is not None else asked.model or LOGS


def _logs(asked: Asked, operations: DataFrame, elements: DataFrame, sizes: PartSizes) -> Judged:
    stamp = contract_asked(asked).timestamp_type
    settings = CutSettings(
        sizes.width, stamps=stamp is not None, append_time=stamp == "LogAppendTime"
    )
    with batches_of_any_size(elements.sparkSession):
        history = CutHistory(elements, operations, settings)
        smaller = history.smaller()
    if isinstance(smaller, Uncut):
        return history, smaller
    judged, corrected = judged_smaller(smaller, asked, operations, is_final=False)
    if corrected is None:
        return history, judged
    with batches_of_any_size(elements.sparkSession):
        again = history.smaller(corrected)
    if isinstance(again, Uncut):
        return history, again
    return history, judged_smaller(again, asked, operations, is_final=True)[0]


def _lists(asked: Asked, operations: DataFrame, elements: DataFrame, _: PartSizes) -> Judged:
    return lists_in_parts(asked, operations, elements)


def _keyed(asked: Asked, operations: DataFrame, elements: DataFrame, sizes: PartSizes) -> Judged:
    return None, judged_by_key(asked, operations, elements, sizes.task_max)


IN_PARTS: Final[Mapping[str, InParts]] = {
    LOGS: _logs,
    "list-append": _lists,
    **dict.fromkeys(KEYED, _keyed),
}
"""By model. A long history of any other model is judged by one task."""
