"""Removes old runs from a store, and keeps its links right."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.errors import EnvironmentFailure
from harness.store.store import Store, is_under_way

_REMOVED = ".removed-"
_AGE = re.compile(r"(\d+)([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


def age_of(text: str) -> timedelta | None:
    """`12h`, `30d` or `8w`; None for anything else."""
    found = _AGE.fullmatch(text)
    return timedelta(hours=int(found[1]) * _HOURS[found[2]]) if found else None


def prunable(
    store: Store, *, keep: int | None, older_than: timedelta | None, now: datetime
) -> list[Path]:
    """The oldest first: all but the newest `keep` of the store, as far as they are that old. A run
    that is under way is none of them, and counts as one of those that are kept."""
    runs = list(store.runs())
    old = runs[: max(0, len(runs) - keep)] if keep is not None else runs
    if older_than is not None:
        old = [each for each in old if now - _began(each) > older_than]
    return [each for each in old if not is_under_way(each)]


def room_of(directory: Path) -> int:
    """Bytes that its removal frees."""
    found = 0
    for where, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                found += (Path(where) / name).lstat().st_blocks * 512
    return found


def remove(store: Store, runs: Collection[Path]) -> Iterator[Path]:
    """Removes these runs, and yields each that is gone; a run that has begun again stays."""
    kinds = {each.parent for each in runs}
    for kind in kinds:
        # Of a command that was killed while it removed them.
        for rest in kind.glob(f"{_REMOVED}*"):
            _erase(rest)
    try:
        for run in runs:
            if is_under_way(run):
                continue
            # From here on it is no run any more, so no command finds half of it.
            hidden = run.with_name(_REMOVED + run.name)
            try:
                run.rename(hidden)
            except OSError as error:
                raise EnvironmentFailure(f"{run} cannot be removed: {error.strerror}") from None
            _erase(hidden)
            yield run
    finally:
        for kind in kinds:
            store.mend_latest(kind)
            with suppress(OSError):  # other runs are in it
                kind.rmdir()
        store.mend_latest(store.root)


def _erase(directory: Path) -> None:
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise EnvironmentFailure(
            f"{error.filename or directory} cannot be removed: {error.strerror}; what is left of "
            "the run is removed by the next --prune"
        ) from None


def _began(run: Path) -> datetime:
    return datetime.strptime(run.name.split("Z")[0], "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)
