"""What the trace of a simulated run tells beside its history: leaders, replicas in sync, messages.

Times are those of the history: the trace's own, less what had passed when the history began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness.store.inside import refuse_strangers
from harness.store.stored_run import read_began
from reports.calls import Ints
from reports.leading import Leading, Missing, reigns_of

METADATA = "__cluster_metadata"
_EVENTS = frozenset(("crash", "start", "ready", "pause", "resume", "truncate", "role", "fault"))


_OF_GROUPS = ("commit_refused", "fenced", "group")


class Fate(Enum):
    """What became of a message; its value is the kind of the trace's event."""

    ARRIVED = "deliver"
    LOST = "drop"
    HELD = "hold"
    """By a cut; it arrives when the link is healed, if its connection lives so long."""


_FATES = {each.value: each for each in Fate}


@dataclass(frozen=True, slots=True)
class Message:
    api: str
    """Kafka's name of the request, also of the reply to it."""
    sender: str
    receiver: str
    sent_ns: int
    ended_ns: int
    """When it arrived, was lost or was held."""
    fate: Fate = Fate.ARRIVED
    why: str = ""
    """Why it was lost or held."""
    connection: str = ""
    """`n1>n2:9092#3`: the third that n1 opened to that port of n2."""
    correlation_id: int | None = None

    @property
    def is_reply(self) -> bool:
        """Whoever opened the connection asks, and the other end replies."""
        return bool(self.connection) and not self.connection.startswith(f"{self.sender}>")


@dataclass(frozen=True, slots=True)
class Event:
    node: str
    time_ns: int
    what: str


class Trace:
    def __init__(self, table: Any, began_ns: int) -> None:
        self._table = table
        self.time_ns: Ints = np.asarray(table["time_ns"]) - began_ns

    @classmethod
    def load(cls, directory: Path) -> Trace | None:
        """None where there is no trace, or nobody knows when in it the history began."""
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        path, began = directory / "trace.arrow", read_began(directory)
        refuse_strangers(directory, path.name)
        if began is None or not path.is_file():
            return None
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except pa.ArrowInvalid:
            return None
        return cls(table, began.stage_ns)

    def _of_kind(self, *kinds: str) -> list[dict[str, Any]]:
        return [row for row in self._few if row["kind"] in kinds]

    @cached_property
    def _few(self) -> list[dict[str, Any]]:
        """The rows that are rare enough to be looked at one by one."""
        import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

        rare = ["isr", *_OF_GROUPS, *sorted(_EVENTS)]
        kinds = self._table["kind"].cast("string")
        where = np.flatnonzero(np.asarray(pc.is_in(kinds, value_set=_texts(rare))))
        rows: list[dict[str, Any]] = self._table.take(where).to_pylist()
        for row, time_ns in zip(rows, self.time_ns[where].tolist(), strict=True):
            row["time_ns"] = time_ns
        return rows

    @cached_property
    def leading(self) -> Leading:
        """One who is gone leads until another does, or it comes back as a follower."""
        end_ns = int(self.time_ns[-1]) if len(self.time_ns) else 0
        led: dict[str, list[tuple[int, str | None, int]]] = {}
        controllers: list[tuple[int, str | None, int]] = []
        for row in self._of_kind("role"):
            if str(row["detail"]).startswith("leader"):
                own = controllers if row["topic"] == METADATA else led.setdefault(_key(row), [])
                own.append((row["time_ns"], row["node"], row["epoch"] or 0))
        reigns = {key: reigns_of(own, end_ns) for key, own in led.items()}
        return Leading(reigns, reigns_of(controllers, end_ns), self._missing())

    def _missing(self) -> list[Missing]:
        """At first all replicas were in sync; more than those are on their way to a new place."""
        found, replicas = [], dict[str, int]()
        for row in self._of_kind("isr"):
            before, arrow, after = str(row["detail"]).partition(">")
            if arrow:
                key = _key(row)
                of = replicas.setdefault(key, _size(before))
                found.append(Missing(row["time_ns"], key, max(0, of - _size(after)), of))
        return found

    def has_seen(self, kind: str) -> bool:
        return self.count(kind) > 0

    def count(self, kind: str) -> int:
        """Events of this kind that are not about the metadata log."""
        return sum(row["topic"] != METADATA for row in self._of_kind(kind))

    @cached_property
    def generations(self) -> int:
        """Generations and epochs of consumer groups that coordinators have begun."""
        return len({(row["detail"], row["epoch"]) for row in self._of_kind("group")})

    def events(self, from_ns: int, to_ns: int) -> list[Event]:
        return [
            Event(row["node"], row["time_ns"], _said(row))
            for row in self._few
            if from_ns <= row["time_ns"] <= to_ns
            and row["kind"] in _EVENTS
            and row["node"] is not None
            and row["topic"] != METADATA
        ]

    def messages(self, from_ns: int, to_ns: int, hosts: Sequence[str]) -> list[Message]:
        """Those between these hosts that left in this time, in order."""
        first, last = np.searchsorted(self.time_ns, (from_ns, to_ns)).tolist()
        # What left in this time may arrive a little after it.
        later = int(np.searchsorted(self.time_ns, to_ns + 1_000_000_000))
        rows = self._table.slice(first, later - first)
        kinds = rows["kind"].cast("string").to_pylist()
        ids, causes = (np.asarray(rows[name]).tolist() for name in ("id", "cause"))
        times = self.time_ns[first:later].tolist()
        nodes, apis, connections, details = (
            rows[name].cast("string").to_pylist()
            for name in ("node", "api", "connection", "detail")
        )
        numbers = rows["correlation_id"].to_pylist()
        sent = {ids[at]: at for at in range(last - first) if kinds[at] == "send"}
        found = []
        for at, kind in enumerate(kinds):
            if kind not in _FATES or causes[at] not in sent:
                continue
            # Its first event tells what became of it: one that is held may be delivered later.
            start, fate = sent.pop(causes[at]), _FATES[kind]
            sender, connection = nodes[start], connections[start] or ""
            receiver = _other_end(connection, sender) or nodes[at]
            if sender in hosts and receiver in hosts and sender != receiver:
                found.append(Message(
                    api=apis[start] or "?",
                    sender=sender,
                    receiver=receiver,
                    sent_ns=times[start],
                    ended_ns=times[at],
                    fate=fate,
                    why="" if fate is Fate.ARRIVED else details[at] or "",
                    connection=connection,
                    correlation_id=numbers[start],
                ))  # fmt: skip
        return sorted(found, key=lambda each: (each.sent_ns, each.ended_ns, each.sender))


def _other_end(connection: str, node: str) -> str:
    """`n2` of the connection `n1>n2:9092#3`, seen from n1; empty if there is none."""
    opener, arrow, rest = connection.partition(">")
    accepter = rest.partition(":")[0]
    return "" if not arrow else accepter if node == opener else opener


def _texts(words: Sequence[str]) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    return pa.array(words, pa.string())


def _key(row: dict[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}"


def _size(text: str) -> int:
    inside = text.partition("[")[2].partition("]")[0].strip()
    return len(inside.split(",")) if inside else 0


def _said(row: dict[str, Any]) -> str:
    key = f" {_key(row)}" if row["topic"] else ""
    detail = f" {row['detail']}" if row["detail"] else ""
    offset = f" to {row['offset']}" if row["kind"] == "truncate" else ""
    return f"{row['kind']}{key}{offset}{detail}"
