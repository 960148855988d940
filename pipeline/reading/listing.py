"""Finds the sources: runs and histories below the given paths.

Only the small files of a run are read here, and the ends of its history. A source that cannot be
read is a rejection, and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import EnvironmentFailure, UsageFailure
from harness.store.inside import DamagedError, MissingError, read_inside
from harness.store.store import Store, is_under_way
from harness.store.stored_run import BEGAN, ENVIRONMENT, PLAN, RESULTS, read_began
from pipeline.reading.rejection import Rejection
from pipeline.reading.source import (
    CLUSTER,
    SUFFIXES,
    Source,
    digest,
    ends_of_history,
    history_in,
    is_run,
    is_tables,
    named_run,
    short,
    stamped,
    whole,
)

_THREADS = 4
_HISTORY = "history"


@dataclass(slots=True)
class Listed:
    sources: list[Source] = field(default_factory=list)
    """Sources from oldest to newest, each run once."""
    under_way: list[Path] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)


def stored(store: Path) -> list[Path]:
    """All runs of a store; UsageFailure if there is none."""
    if not store.is_dir():
        raise UsageFailure(
            f"{store} is no directory; give a store, a run or a history, or make a run with: "
            "harness test --nemesis partition"
        )
    runs = [each.absolute() for run in Store(store).runs() for each in _below(run)]
    if not runs:
        raise UsageFailure(
            f"{store} has no runs; make one with: harness test --nemesis partition, or name "
            "histories: harness lake ingest FILE"
        )
    return runs


def named(places: Sequence[Path]) -> list[Path]:
    """The runs and histories at and below these places; UsageFailure for one without any."""
    found: dict[Path, None] = {}
    for place in places:
        below = [each.absolute() for each in _below(place)]
        if not below:
            raise UsageFailure(
                f"{place} has neither a run nor a history; give a store, a run, a directory of "
                "Parquet, or a .jsonl or .edn file"
                if place.exists()
                else f"{place} does not exist"
            )
        found |= dict.fromkeys(below)
    return list(found)


def _below(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        if is_run(place) or is_tables(place):
            yield place
            return
        below = sorted(each for each in place.iterdir() if not each.is_symlink())
        texts = [each for each in below if each.suffix in SUFFIXES and each.is_file()]
        # Jepsen's results.edn and test.edn are beside a history and are no histories.
        yield from [each for each in texts if each.stem == _HISTORY] or texts
        for each in below:
            if each.is_dir():
                yield from _below(each)


def listed(paths: Iterable[Path]) -> Listed:
    """Describe the sources. A run that is there twice, in a copy of its store, is listed once."""
    result = Listed()
    by_run: dict[str, Source] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for path, found in zip(paths, pool.map(_described, paths), strict=True):
            if found is None:
                result.under_way.append(path)
            elif isinstance(found, Rejection):
                result.rejected.append(found)
            else:
                by_run.setdefault(found.run, found)
    result.sources = sorted(by_run.values(), key=lambda each: (each.began_us, each.run))
    return result


def _described(path: Path) -> Source | Rejection | None:
    """The source at this path, its rejection, or None for a run that is under way."""
    try:
        if path.is_file():
            return _text(path)
        if is_run(path):
            return None if is_under_way(path) else _run(path)
        return _tables(path)
    except EnvironmentFailure as failure:
        where = str(failure.path) if isinstance(failure, DamagedError) else str(path)
        why = failure.why if isinstance(failure, DamagedError) else str(failure)
        return Rejection(run=_called(path), source=where, reason=why)
    except OSError as error:
        return Rejection(run=_called(path), source=str(path), reason=error.strerror or str(error))


def _run(path: Path) -> Source | Rejection:
    place = history_in(path)
    if place is None:
        return Rejection(
            run=_called(path),
            source=str(path),
            reason="it has no history: the run ended before it recorded anything",
        )
    files = {PLAN: _read(path, PLAN), BEGAN: _read(path, BEGAN)}
    files |= {name: _read_any(path, name) for name in (ENVIRONMENT, RESULTS, CLUSTER)}
    plan = _object(files[PLAN])
    if plan is None and files[PLAN] is not None:
        return Rejection(
            run=_called(path),
            source=str(path / PLAN),
            reason="it is not JSON, and without its plan a run cannot be judged",
        )
    is_renamed = stamped(path.name) is None
    told = (_object(files[RESULTS]) or {}).get("run") if is_renamed else None
    name = named_run(path, (plan or {}).get("workload"), (plan or {}).get("nemesis"), told)
    ends = list(ends_of_history(place))
    identity = digest(files[PLAN] or b"", files[BEGAN] or b"")
    content = (_sized(each) for each in files.values())
    history = (part for size, end in ends for part in (size.to_bytes(8, "big"), end))
    return Source(
        kind="run",
        path=str(path),
        run=f"{name}#{short(identity)}",
        name=name.partition("/")[0],
        began_us=_micros(_began(path, name)),
        fingerprint=digest(*content, *history),
        weight=sum(size for size, _ in ends),
    )


def _tables(path: Path) -> Source:
    place = history_in(path)
    assert place is not None, "it was listed as one"
    ends = list(ends_of_history(place))
    content = digest(*(part for size, end in ends for part in (size.to_bytes(8, "big"), end)))
    return Source(
        kind="tables",
        path=str(path),
        run=f"{_called(path)}#{short(content)}",
        name=_called(path),
        began_us=_micros(_changed(place / ("ops" + _suffix_of(place)))),
        fingerprint=content,
        weight=sum(size for size, _ in ends),
    )


def _text(path: Path) -> Source | Rejection:
    if path.suffix not in SUFFIXES:
        return Rejection(
            run=_called(path),
            source=str(path),
            reason="it is no history: give a .jsonl or .edn file, a run, or a directory of Parquet",
        )
    content = whole(path)
    began = stamped(path.parent.name) or _changed(path)
    return Source(
        kind="text",
        path=str(path),
        run=f"{_called(path)}#{short(content)}",
        name=_called(path),
        began_us=_micros(began),
        fingerprint=content,
        weight=path.stat().st_size,
    )


def _called(path: Path) -> str:
    """Name of a history by its path: `kafka/history` for one of Jepsen."""
    own = path.name if path.is_dir() else path.stem
    if is_run(path) or own in (_HISTORY, "history.parquet"):
        return f"{path.absolute().parent.name}/{own}"
    return own


def _suffix_of(place: Path) -> str:
    return ".parquet" if (place / "ops.parquet").is_file() else ".arrow"


def _began(path: Path, name: str) -> datetime:
    """Time when the run began: by its clock, else by its name, else by its directory."""
    try:
        began = read_began(path)
    except DamagedError:
        began = None
    if began is not None:
        return began.wall
    return stamped(name) or _changed(path)


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _micros(at: datetime) -> int:
    return round(at.timestamp() * 1e6)


def _read(path: Path, name: str) -> bytes | None:
    try:
        return read_inside(path, name)
    except MissingError:
        return None


def _read_any(path: Path, name: str) -> bytes | None:
    """Whoever reads the run sets such a file aside and takes the history."""
    try:
        return _read(path, name)
    except DamagedError as damaged:
        return damaged.why.encode()


def _sized(content: bytes | None) -> bytes:
    return b"" if content is None else b"+" + content


def _object(content: bytes | None) -> Mapping[str, Any] | None:
    try:
        found = json.loads(content or b"")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
