"""The log of a lake: the batches of rows that belong to it. All other batches are ignored.

Spark writes the files of a batch first, table by table; one entry of the log then makes all of them
visible at once. A driver that is killed in between leaves files that nobody reads, and that the
next ingest removes. Entries are numbered files below `_log`; Spark does not look into directories
whose names begin with an underscore. They are read and written by Hadoop's file systems, so a lake
may be at any address that Spark can write to. Entries are created, never overwritten: of two
commands that write the same number, one succeeds. In a directory an entry appears as a whole
(new_file.py), S3 creates it on the condition that it is missing, and HDFS creates it empty first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.errors import EnvironmentFailure, UsageFailure
from pipeline.new_file import create_file
from pipeline.reading.files import is_reachable
from pipeline.schema import VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = "_log"
_WRITING: Final = "_writing"
"""A file for each batch that a command is writing, named after it."""
_DIGITS: Final = 12
_PATTERN: Final = frozenset("*?[]{}\\")
_ENTRY: Final = re.compile(rf"\d{{{_DIGITS}}}\.json")
_ONLY_IF_MISSING: Final = "fs.option.create.conditional.overwrite"
"""S3 otherwise looks for the file when it is opened, and overwrites it when it is closed."""
_HAS_CONDITIONS: Final = "fs.s3a.create.conditional.enabled"

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
        if _PATTERN.intersection(self.root):
            raise UsageFailure(
                f"{root} has one of {' '.join(sorted(_PATTERN))}, by which Hadoop means several "
                "directories; name the lake without them"
            )
        self._jvm: Any = spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()
        try:
            self._files = self._path().getFileSystem(self._conf)
        except Exception as error:
            raise UsageFailure(
                f"{root} is no address of a lake that Spark can reach ({_said(error)}); give a "
                "directory, or an address such as s3a://bucket/lake with its connector"
            ) from None
        self._is_local = is_reachable(self.root)
        scheme = self._files.getUri().getScheme()
        if self._is_local and scheme != "file":
            raise UsageFailure(
                f"Hadoop's fs.defaultFS takes {root} for a directory of {scheme}://, and this "
                f"command for one of this machine; name the lake with its address: {scheme}://... "
                f"or file://{Path(self.root).absolute()}"
            )

    def exists(self) -> bool:
        return bool(self._files.exists(self._path(_LOG)))

    def snapshot(self) -> Snapshot:
        """The lake after all entries; empty for a lake that does not exist yet."""
        batches: dict[str, int] = {}
        hidden: set[tuple[str, str, str]] = set()
        last = -1
        for number, entry in self._entries():
            if number != last + 1:
                raise EnvironmentFailure(
                    f"{self.root}/{_LOG} lacks entry {last + 1}, without which the lake cannot be "
                    "read; restore the file, or ingest into another lake"
                )
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
            self._create(text, _LOG, name)
        except FileExistsError as error:
            raise EnvironmentFailure(
                f"{self.root} was changed by another command meanwhile ({error}); run the command "
                "again, which goes on from there"
            ) from None

    def mark(self, batch: str, writer: Mapping[str, Any]) -> None:
        """Notes who is writing a batch, so that nobody takes it for a dead one."""
        self._create(json.dumps(dict(writer)), _WRITING, batch)

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
        """By number; None for one whose writer was killed between its creation and its text."""
        if not self.exists():
            return
        names = [status.getPath().getName() for status in self._files.listStatus(self._path(_LOG))]
        for name in sorted(filter(_ENTRY.fullmatch, names)):
            text = self._text(self._path(_LOG, name))
            try:
                yield int(name.removesuffix(".json")), entry_of(text) if text else None
            except ValueError as error:
                raise EnvironmentFailure(
                    f"{self.root}/{_LOG}/{name} is damaged ({error}), and the lake cannot be read "
                    "without it; restore the file, or ingest into another lake"
                ) from None

    def _create(self, text: str, *parts: str) -> None:
        """FileExistsError if the file is there already."""
        if self._is_local:
            create_file(Path(self.root, *parts), text)
            return
        path = self._path(*parts)
        try:
            self._create_by_hadoop(text, path)
        except Exception as error:
            if self._files.exists(path):
                raise FileExistsError(_said(error)) from error
            raise

    def _create_by_hadoop(self, text: str, path: Any) -> None:
        create = self._files.createFile(path)
        create.overwrite(False).recursive()
        # S3's connector refuses the option where the condition was switched off.
        if self._conf.getBoolean(_HAS_CONDITIONS, True):
            create.opt(_ONLY_IF_MISSING, True)
        out = create.build()
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


def entry_of(text: str) -> Entry:
    """ValueError says what is wrong with the text of an entry."""
    try:
        told = json.loads(text)
        version = told["version"]
        if not isinstance(version, int):
            raise ValueError(f"version is {version!r}")
        if version > VERSION:
            return Entry(version=version, by="")  # whose other members may be of another kind
        return Entry(
            version=version,
            by=told["by"],
            adds=tuple(told["adds"]),
            removes=tuple(told["removes"]),
            hides=tuple((table, batch, run) for table, batch, run in told["hides"]),
        )
    except KeyError as error:
        raise ValueError(f"it lacks {error}") from None
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _said(error: Exception) -> str:
    """The message of Java's exception, without its stack."""
    inner = getattr(error, "java_exception", None)
    return str(inner.getMessage() if inner is not None else error).splitlines()[0]
