"""A progress bar for jobs of Spark, from its status tracker; only on a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

Say = Callable[[str], None]
"""Function that takes the name of the step that begins, in a few words."""
_LOOKS_EVERY_S: Final = 0.25


class Tasks(NamedTuple):
    """Tasks of the jobs under way, as far as Spark has planned them."""

    done: int
    all: int


def tasks_of(tracker: Any) -> Tasks:
    """`tracker`: Spark's StatusTracker. A stage that was not planned yet has no tasks."""
    done = every = 0
    for job in tracker.getActiveJobsIds():
        known = tracker.getJobInfo(job)
        for stage in known.stageIds if known is not None else ():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                every += info.numTasks
    return Tasks(done, every)


@contextmanager
def progress(session: SparkSession, *, is_silent: bool = False) -> Iterator[Say]:
    """Shows what runs while the block does; the bar is gone when it ends.

    Nothing is shown where standard error is no terminal, or if `is_silent`.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if is_silent or not console.is_terminal:
        yield lambda step: None
        return
    with bar(session.sparkContext.statusTracker(), console) as say:
        yield say


@contextmanager
def bar(tracker: Any, console: Console) -> Iterator[Say]:
    """The bar itself: a thread looks at the tracker until the block ends."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} tasks"),
        TimeElapsedColumn(),
    )
    over = threading.Event()
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("starting", total=0)

        def look() -> None:
            while not over.wait(_LOOKS_EVERY_S):
                try:
                    now = tasks_of(tracker)
                # Spark's gateway may be gone, whatever its exception: the bar must fail nothing.
                except Exception:
                    return
                shown.update(task, completed=now.done, total=now.all)

        looking = threading.Thread(target=look, name="progress of Spark", daemon=True)
        looking.start()
        try:
            yield lambda step: shown.update(task, description=step)
        finally:
            over.set()
            looking.join()
