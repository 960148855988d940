"""`broker dump-log`: what stands in a log's files, batch by batch, and where they are damaged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from broker.cli.dump_form import batch_fields, record_fields, shown
from broker.cli.errors import EnvironmentFailure, FindingError, sentence
from broker.disk.files import FileDisk
from broker.disk.interface import Disk, File
from broker.log.batch_walk import read, walk_batches
from broker.log.breather import Breather
from broker.log.file_names import parse
from broker.log.segment_check import reason
from broker.protocol.batch import CorruptBatchError
from broker.protocol.records import iterate_records

_SUFFIX = ".log"
_RECORDS_BYTES_MAX = 1 << 30


@click.command("dump-log")
@click.argument("place", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--records", is_flag=True, help="Also every record in every batch.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object to a line.")
def dump_log(place: Path, records: bool, as_json: bool) -> None:
    """Print the batches of one segment, or of all segments in a partition's directory.

    Works on a stopped broker's files, and changes nothing. Records of __consumer_offsets and
    __transaction_state are decoded. Exit code 1 says that a file is damaged: a batch is torn,
    fails its checksum, or its offsets go back.
    """
    try:
        names = _segment_names(place)
        folder = (place if place.is_dir() else place.parent).resolve()
        found = asyncio.run(_dump(folder, names, records, as_json))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise EnvironmentFailure(f"cannot read {place}: {sentence(error)}") from None
    if found:
        raise FindingError(f"{found} of the files are damaged")


async def _dump(folder: Path, names: list[str], records: bool, as_json: bool) -> int:
    disk: Disk = FileDisk(str(folder), threads=1)
    topic = folder.name.rpartition("-")[0]
    damaged = 0
    end_offset = 0
    for name in names:
        file = await disk.open(name)
        dump = _Dump(name, topic, records, as_json, end_offset)
        try:
            await dump.segment(file)
        finally:
            file.close()
        damaged += dump.is_damaged
        end_offset = dump.end_offset
    await disk.close()
    return damaged


def _segment_names(place: Path) -> list[str]:
    if not place.exists():
        raise EnvironmentFailure(f"{place} does not exist")
    if not place.is_dir():
        if place.suffix != _SUFFIX:
            raise EnvironmentFailure(f"{place} is no segment; their names end in {_SUFFIX}")
        return [place.name]
    names = sorted(each.name for each in place.iterdir() if each.suffix == _SUFFIX)
    if not names:
        raise EnvironmentFailure(
            f"{place} holds no segments; give a partition's directory, such as <log.dir>/topic-0"
        )
    return names


class _Dump:
    """One segment. `end_offset` is where the ones before it end; offsets only rise."""

    def __init__(
        self, name: str, topic: str, records: bool, as_json: bool, end_offset: int
    ) -> None:
        self.end_offset = end_offset
        self.is_damaged = False
        self._name = name
        self._topic = topic
        self._records = records
        self._as_json = as_json

    async def segment(self, file: File) -> None:
        self._say({"segment": self._name, "size": file.size})
        self._check_name()
        position = 0
        async for found in walk_batches(file, 0, file.size, Breather(), verify=True):
            header = found.header
            self._say({"position": found.position, **batch_fields(header)}, depth=1)
            position = found.position + header.size
            if header.base_offset < self.end_offset:
                self._say_damage(
                    f"the batch begins at offset {header.base_offset}, but the offsets before it "
                    f"reach {self.end_offset - 1}",
                    found.position,
                )
            self.end_offset = max(self.end_offset, header.last_offset + 1)
            if self._records:
                batch = found.batch
                if batch is None:
                    batch = memoryview(await read(file, found.position, header.size))
                try:
                    for record in iterate_records(batch, header, max_bytes=_RECORDS_BYTES_MAX):
                        self._say(record_fields(record, header, self._topic), depth=2)
                except CorruptBatchError as error:
                    self._say_damage(f"batch at {found.position}: {error}", found.position)
        if position < file.size:
            self._say_damage(await reason(file, position), position)

    def _check_name(self) -> None:
        named = parse(self._name)
        if named is None:
            return
        if named[0] < self.end_offset:
            self._say_damage(
                f"its name says offset {named[0]}, but the segments before it reach "
                f"{self.end_offset - 1}",
                0,
            )
        self.end_offset = max(self.end_offset, named[0])

    def _say_damage(self, what: str, position: int) -> None:
        self.is_damaged = True
        self._say({"damage": what, "position": position}, depth=1)

    def _say(self, fields: dict[str, object], depth: int = 0) -> None:
        if self._as_json:
            click.echo(json.dumps({"file": self._name, **fields}, ensure_ascii=False))
        else:
            click.echo("  " * depth + " ".join(f"{k}: {shown(v)}" for k, v in fields.items()))
