"""The log of a lake: the batches of rows that belong to it. All other batches are ignored.

Spark writes the files of a batch first, table by table; one entry of the log then makes all of them
visible at once. A driver that is killed in between leaves files that nobody reads, and that the
next ingest removes. Entries are numbered files below `_log`; Spark does not look into directories
whose names begin with an underscore. They are read and written by Hadoop's file systems, so a lake
may be at any address that Spark can write to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from harness.errors import EnvironmentFailure, UsageFailure
from pipeline.schema import VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = "_log"
_WRITING: Final = "_writing"
"""A file for each batch that a command is writing, named after it."""
_DIGITS: Final = 12

ALL_TABLES: Final = "*"
"""Stands for a table's name: the rows of a run in every table of a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change of the lake."""

    version: int = VERSION
    """Version of the schema of the added batches."""
    by: str
    """The command: ingest, check, compact."""
    adds: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    hides: tuple[tuple[str, str, str], ...] = ()
    """Table (or `*`), batch and run of rows that newer rows replace."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The lake after all entries."""

    number: int
    """Number of the next entry."""
    batches: dict[str, int] = field(default_factory=dict)
    """Schema version by visible batch."""
    hidden: frozenset[tuple[str, str, str]] = frozenset()


class LakeLog:
    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root.rstrip("/")
        self._jvm: Any = spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()
        try:
            self._files = self._path().getFileSystem(self._conf)
        except Exception as error:
            raise UsageFailure(
                f"{root} is no address of a lake that Spark can reach ({_said(error)}); give a "
                "directory, or an address such as s3a://bucket/lake with its connector"
            ) from None

    def exists(self) -> bool:
        return bool(self._files.exists(self._path(_LOG)))

    def snapshot(self) -> Snapshot:
        """The lake after all entries; empty for a lake that does not exist yet."""
        batches: dict[str, int] = {}
        hidden: set[tuple[str, str, str]] = set()
        last = -1
        for number, entry in self._entries():
            last = number
            if entry is None:
                continue
            if entry.version > VERSION:
                raise UsageFailure(
                    f"{self.root} was written by a newer version (schema {entry.version}, this "
                    f"version reads up to {VERSION}); use that version"
                )
            batches |= dict.fromkeys(entry.adds, entry.version)
            hidden |= set(entry.hides)
            for gone in entry.removes:
                batches.pop(gone, None)
        visible = frozenset(one for one in hidden if one[1] in batches)
        return Snapshot(last + 1, batches, visible)

    def append(self, entry: Entry, after: Snapshot) -> None:
        """Write an entry. EnvironmentFailure if another command changed the lake after `after`."""
        name = f"{after.number:0{_DIGITS}}.json"
        text = json.dumps(
            {
                "version": entry.version,
                "by": entry.by,
                "adds": entry.adds,
                "removes": entry.removes,
                "hides": entry.hides,
            }
        )
        try:
            self._write(text, _LOG, name)
        except Exception as error:
            raise EnvironmentFailure(
                f"{self.root} was changed by another command meanwhile ({_said(error)}); run the "
                "command again, which goes on from there"
            ) from None

    def mark(self, batch: str, writer: Mapping[str, Any]) -> None:
        """Notes who is writing a batch, so that nobody takes it for a dead one."""
        self._write(json.dumps(dict(writer)), _WRITING, batch)

    def unmark(self, batch: str) -> None:
        self._files.delete(self._path(_WRITING, batch), False)

    def marks(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Batches that are not committed, with their writers, which may have been killed."""
        path = self._path(_WRITING)
        if not self._files.exists(path):
            return
        for status in self._files.listStatus(path):
            try:
                found = json.loads(self._text(status.getPath()))
            except ValueError:
                found = {}
            yield status.getPath().getName(), found if isinstance(found, dict) else {}

    def size(self, *parts: str) -> int:
        """Bytes of all files below this directory of the lake; 0 if it does not exist."""
        path = self._path(*parts)
        if not self._files.exists(path):
            return 0
        return int(self._files.getContentSummary(path).getLength())

    def delete(self, *parts: str) -> None:
        """Delete a directory of the lake with its content."""
        self._files.delete(self._path(*parts), True)

    def directories(self, *parts: str) -> Iterator[str]:
        """Names of the directories in this directory of the lake."""
        path = self._path(*parts)
        if not self._files.exists(path):
            return
        for status in self._files.listStatus(path):
            if status.isDirectory():
                yield status.getPath().getName()

    def _entries(self) -> Iterator[tuple[int, Entry | None]]:
        """By number; None for one that its writer did not finish."""
        if not self.exists():
            return
        names = [status.getPath().getName() for status in self._files.listStatus(self._path(_LOG))]
        for name in sorted(name for name in names if name.endswith(".json")):
            text = self._text(self._path(_LOG, name))
            yield int(name.removesuffix(".json")), _entry(text)

    def _write(self, text: str, *parts: str) -> None:
        """Java's exception if the file is there already, or cannot be written."""
        out = self._files.create(self._path(*parts), False)
        try:
            out.write(bytearray(text.encode()))
        finally:
            out.close()

    def _text(self, path: Any) -> str:
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _path(self, *parts: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path("/".join((self.root, *parts)))


def _entry(text: str) -> Entry | None:
    try:
        told = json.loads(text)
        return Entry(
            version=told["version"],
            by=told["by"],
            adds=tuple(told["adds"]),
            removes=tuple(told["removes"]),
            hides=tuple((table, batch, run) for table, batch, run in told["hides"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _said(error: Exception) -> str:
    """The message of Java's exception, without its stack."""
    inner = getattr(error, "java_exception", None)
    return str(inner.getMessage() if inner is not None else error).splitlines()[0]
