"""What is to happen in a run, as one versioned JSON file; docs/reference/schedule.md explains it.

With its seed a schedule decides everything: the same file gives the same run, byte for byte.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.decisions import Override
from harness.schedule.crash_points import CRASHABLE, CrashPoint
from harness.schedule.faults import CLIENTS, FAULTS, Fault, kind_of
from harness.schedule.json_form import FormError, object_of, read, text_of, write
from harness.schedule.limits import beyond_limits
from harness.wire.match import MessageFault, MessageFaultError
from harness.wire.match_json import faults_from_json, faults_to_json

VERSION = 1
FILE_BYTES_MAX = 64 << 20
"""Far above any schedule; a device such as /dev/zero never ends."""


class ScheduleError(Exception):
    """The file cannot be used: what is wrong, where, and what to try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a client does, at the earliest at `at_ms`. Its arguments are the client's business."""

    at_ms: float
    do: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    seed: int
    nodes: int = 1
    length_ms: float = 10_000.0
    properties: Mapping[str, str] = field(default_factory=dict)
    """Of every broker, beside those that make it a member of its cluster."""
    operations: Mapping[str, tuple[Operation, ...]] = field(default_factory=dict)
    """By the client's name, which is also the name of its host."""
    faults: tuple[Fault, ...] = ()
    message_faults: tuple[MessageFault, ...] = ()
    crash_points: tuple[CrashPoint, ...] = ()
    overrides: tuple[Override, ...] = ()

    def __post_init__(self) -> None:
        """ScheduleError when the entries contradict each other."""
        known = {f"n{number}" for number in range(1, self.nodes + 1)}
        hosts = known | {*self.operations, CLIENTS}
        names: set[str] = set()
        for fault in self.faults:
            where = f"fault {fault.name!r}"
            if fault.name in names:
                raise ScheduleError(f"{where}: the name is taken; give each fault its own")
            names.add(fault.name)
            node = getattr(fault, "node", None)
            for each in (*getattr(fault, "nodes", ()), *([] if node is None else [node])):
                _check_known(each, known, where)
            error = getattr(fault, "error", "EIO")
            if error not in errno.errorcode.values():
                raise ScheduleError(f"{where}: no error is called {error!r}; try EIO or ENOSPC")
            for link in getattr(fault, "links", ()):
                for host in link:
                    _check_known(host, hosts, where)
        for number, point in enumerate(self.crash_points, 1):
            where = f"crash point {number}"
            _check_known(point.node, known, where)
            if point.operation not in CRASHABLE:
                raise ScheduleError(
                    f"{where}: nothing crashes at {point.operation!r}; try one of "
                    + ", ".join(CRASHABLE)
                )
            if point.nth < 1:
                raise ScheduleError(f"{where}: nth is {point.nth}; the first is number 1")
        for sentence in beyond_limits(self):
            raise ScheduleError(sentence)

    @classmethod
    def load(cls, path: Path) -> Schedule:
        try:
            with path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            if len(data) > FILE_BYTES_MAX:
                raise ScheduleError(f"{path}: no schedule has more than {FILE_BYTES_MAX:,} bytes")
            text = data.decode()
        except OSError as error:
            raise ScheduleError(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ScheduleError(
                f"{path}: byte {error.start} is no UTF-8; save it as a text file"
            ) from None
        try:
            return cls.of_text(text)
        except ScheduleError as error:
            raise ScheduleError(f"{path}: {error}") from None

    @classmethod
    def of_text(cls, text: str) -> Schedule:
        try:
            return _schedule(json.loads(text))
        except json.JSONDecodeError as error:
            raise ScheduleError(
                f"line {error.lineno}, column {error.colno}: no JSON, {error.msg.lower()}"
            ) from None
        except (FormError, MessageFaultError) as error:
            raise ScheduleError(str(error)) from None

    def text(self) -> str:
        """One entry to a line, so that a diff of two schedules shows what was taken out."""
        document: dict[str, Any] = {
            "version": VERSION,
            "seed": self.seed,
            "nodes": self.nodes,
            "length_ms": self.length_ms,
            "properties": dict(self.properties),
            "operations": {
                client: [_of_operation(each) for each in operations]
                for client, operations in self.operations.items()
            },
            "faults": [{"kind": kind_of(each), **write(each)} for each in self.faults],
            "message_faults": faults_to_json(self.message_faults),
            "crash_points": [write(each) for each in self.crash_points],
            "overrides": [each._asdict() for each in self.overrides],
        }
        return text_of(document)

    def save(self, path: Path) -> None:
        path.write_text(self.text())


def _check_known(name: str, known: set[str], where: str) -> None:
    if name not in known:
        raise ScheduleError(f"{where}: there is no {name!r}; known are {', '.join(sorted(known))}")


def _schedule(data: Any) -> Schedule:
    names = ("version", "seed", "nodes", "length_ms", "properties", "operations", "faults",
             "message_faults", "crash_points", "overrides")  # fmt: skip
    known = object_of(data, names, "the schedule")
    version = known.get("version")
    if version != VERSION:
        raise ScheduleError(
            f"version is {version!r}; this program reads version {VERSION}, so write "
            f'"version": {VERSION} if the file is of that form'
        )
    plain = read(
        _Head, {name: known[name] for name in ("seed", "nodes", "length_ms") if name in known}, ""
    )
    return Schedule(
        seed=plain.seed,
        nodes=plain.nodes,
        length_ms=plain.length_ms,
        properties=_properties(known.get("properties", {})),
        operations=_operations(known.get("operations", {})),
        faults=tuple(_fault(*each) for each in _entries(known, "faults", "fault")),
        message_faults=tuple(faults_from_json(known.get("message_faults", []))),
        crash_points=tuple(
            read(CrashPoint, each, where)
            for each, where in _entries(known, "crash_points", "crash point")
        ),
        overrides=tuple(
            read(Override, each, where) for each, where in _entries(known, "overrides", "override")
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    seed: int
    nodes: int = 1
    length_ms: float = 10_000.0


def _entries(known: Mapping[str, Any], name: str, each: str) -> list[tuple[Any, str]]:
    entries = known.get(name, [])
    if not isinstance(entries, list):
        raise FormError(f"{name}: {entries!r} is no list; put its entries in [ ]")
    return [(entry, f"{each} {number}") for number, entry in enumerate(entries, 1)]


def _fault(data: Any, where: str) -> Fault:
    if not isinstance(data, dict) or data.get("kind") not in tuple(FAULTS):
        said = data.get("kind") if isinstance(data, dict) else data
        raise FormError(f"{where}: no fault is a {said!r}; try one of {', '.join(FAULTS)}")
    rest = {name: value for name, value in data.items() if name != "kind"}
    return read(FAULTS[data["kind"]], rest, where)


def _properties(data: Any) -> dict[str, str]:
    if not isinstance(data, dict):
        raise FormError(f"properties: {data!r} is no object; put it in {{ }}")
    for name, value in data.items():
        if not isinstance(value, str):
            raise FormError(f"properties, {name}: {value!r} is no string; put it in quotes")
    return dict(data)


def _operations(data: Any) -> dict[str, tuple[Operation, ...]]:
    if not isinstance(data, dict):
        raise FormError(f"operations: {data!r} is no object; put lists by client into {{ }}")
    return {
        client: tuple(
            _operation(*each) for each in _entries(data, client, f"operations of {client},")
        )
        for client in data
    }


def _operation(data: Any, where: str) -> Operation:
    if not isinstance(data, dict):
        raise FormError(f"{where}: {data!r} is no object; put it in {{ }}")
    plain = {name: data[name] for name in ("at_ms", "do") if name in data}
    rest = {name: value for name, value in data.items() if name not in plain}
    return read(Operation, {**plain, "arguments": rest}, where)


def _of_operation(operation: Operation) -> dict[str, Any]:
    return {"at_ms": operation.at_ms, "do": operation.do, **operation.arguments}
