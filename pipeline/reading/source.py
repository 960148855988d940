"""A source: one run or one history that is to be read, with its identity and its fingerprint.

The identity of a run is its name in the store and a digest of its plan, so the run has the same
one in a store that was moved or copied. The identity of a history without a plan is the name of its
file and a digest of its content. The fingerprint is a digest of everything that is read, so it
changes when a run is judged again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from harness.history.chunks import has_chunks
from harness.history.history import CHUNKS, PARQUET
from harness.history.parquet import has_parquet
from harness.store.inside import MissingError, open_inside
from harness.store.stored_run import PLAN

Kind = Literal["run", "tables", "text"]
"""A stored run; a directory of Parquet or chunks alone; a file of JSON Lines or EDN."""

CLUSTER: Final = "cluster.jsonl"
SUFFIXES: Final = (".jsonl", ".edn")

_STAMP = re.compile(r"(\d{8}T\d{6}\.\d{3})Z(-\d+)?")
_END_BYTES: Final = 1 << 20
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    kind: Kind
    path: str
    run: str
    name: str
    began_us: int
    """Microseconds since 1970."""
    fingerprint: str
    weight: int
    """Bytes of its history, by which the work is divided."""

    @property
    def directory(self) -> Path:
        return Path(self.path)

    @property
    def began(self) -> datetime:
        return datetime.fromtimestamp(self.began_us / 1e6, UTC)


def is_run(directory: Path) -> bool:
    """Whether it is a run of this harness. Runs of Jepsen have such names, and a history.edn."""
    if (directory / PLAN).exists():
        return True
    is_named = _STAMP.fullmatch(directory.name) is not None
    return is_named and not any((directory / f"history{each}").is_file() for each in SUFFIXES)


def is_tables(directory: Path) -> bool:
    return has_parquet(directory) or has_chunks(directory)


def named_run(directory: Path, workload: object, nemesis: object, told: object) -> str:
    """`queue kill/20261118T201310.023Z`: by the plan and the store's name, else by the path.

    `told` is the name of the run in results.json, for a run whose directory was renamed.
    """
    kind = directory.parent.name
    if isinstance(workload, str) and isinstance(nemesis, str):
        kind = f"{workload} {nemesis.replace(',', '+').replace(':', '-')}"
    names = (each for each in (directory.name, told) if isinstance(each, str))
    return f"{kind}/{next(filter(_STAMP.fullmatch, names), directory.name)}"


def stamped(name: str) -> datetime | None:
    """The time in the name of a run's directory."""
    found = _STAMP.search(name)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None


def digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.hexdigest()


def short(fingerprint: str) -> str:
    """Digits enough to distinguish runs of one name that began in the same millisecond."""
    return fingerprint[:_DIGITS]


def history_in(directory: Path) -> Path | None:
    """The directory in which `History.load` finds the tables of this run, or None."""
    for place in (directory / PARQUET, directory):
        if has_parquet(place):
            return place
    for place in (directory / CHUNKS, directory):
        if has_chunks(place):
            return place
    return None


def ends_of_history(place: Path) -> Iterator[tuple[int, bytes]]:
    """Size of each file of a history, and the bytes at both ends.

    These files are not changed after they were written, so this identifies them: the end of a
    Parquet file has the minimum and the maximum of every column.
    """
    suffix = "parquet" if has_parquet(place) else "arrow"
    for part in ("ops", "elements", "keys", "values"):
        try:
            with open_inside(place, f"{part}.{suffix}") as file:
                size = file.seek(0, 2)
                file.seek(0)
                ends = file.read(_END_BYTES)
                if size > _END_BYTES:
                    file.seek(max(_END_BYTES, size - _END_BYTES))
                    ends += file.read()
        except MissingError:
            continue
        yield size, ends


def whole(path: Path) -> str:
    """Digest of a whole file. Text is edited by hand, so its ends are not enough."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
