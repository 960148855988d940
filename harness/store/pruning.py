"""Removes old runs from a store, and updates its links."""

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
    """The age that `12h`, `30d` or `8w` means; None for any other text."""
    found = _AGE.fullmatch(text)
    if found is None:
        return None
    try:
        return timedelta(hours=int(found[1]) * _HOURS[found[2]])
    except OverflowError:  # millions of years
        return None


def prunable(
    store: Store, *, keep: int | None, older_than: timedelta | None, now: datetime
) -> list[Path]:
    """Runs to remove, the oldest first: all but the newest `keep` that began before `older_than`.

    A run that is under way is never removed, and counts as one of the newest.
    """
    runs = list(store.runs())
    old = runs[: max(0, len(runs) - keep)] if keep is not None else runs
    if older_than is not None:
        old = [each for each in old if now - _began(each) > older_than]
    return [each for each in old if not is_under_way(each)]


def room_of(directory: Path) -> int:
    """Bytes on disk that the removal of this directory frees."""
    found = 0
    for where, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                found += (Path(where) / name).lstat().st_blocks * 512
    return found


def remove(store: Store, runs: Collection[Path]) -> Iterator[Path]:
    """Remove these runs, and yield each one that was removed; a run under way stays."""
    # A command that was killed during a removal leaves these, and perhaps no other run of the kind.
    leftovers = list(store.root.glob(f"*/{_REMOVED}*"))
    for each in leftovers:
        _erase(each)
    kinds = {each.parent for each in (*runs, *leftovers)}
    try:
        for run in runs:
            if is_under_way(run):
                continue
            # Under the hidden name it is no run, so no command finds a half of it.
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
            f"{error.filename or directory} cannot be removed: {error.strerror}; the next --prune "
            "removes what is left of the run"
        ) from None


def _began(run: Path) -> datetime:
    return datetime.strptime(run.name.split("Z")[0], "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)
