"""For each checker of the registry a guilty history, and its innocent neighbour."""

from __future__ import annotations

from typing import Any

from checkers.contract import Contract
from harness.client.entries import entry_value
from tests.unit.checkers.stories import (
    appended,
    assigned,
    described,
    got,
    keyed,
    made,
    polled,
    put,
    sent,
    stamped,
)

ASKED = {
    "stale-read": Contract(stale_bound_ms=0),
    "timestamp-order": Contract(timestamp_type="LogAppendTime", one_clock=True),
}
"""What some checkers must be asked for."""


def commit(f: str, offset: int | None, generation: int = 1) -> Any:
    told = {"group": "g", "generation": generation, "member": "m", "offsets": {"x": offset}}
    return 0, "ok", f, told


def owned(process: int, f: str, generation: int) -> Any:
    return process, "ok", f, {"group": "g", "generation": generation, "keys": ["x"]}


def transformed(process: int, offset: int, value: int) -> Any:
    return process, "ok", "transform", {"in": [["x", offset]], "out": [["y", [value, value]]]}


def dealt(process: int, deal: int, *places: tuple[str, int], outcome: str = "ok") -> Any:
    """A deal with one entry in each of these places."""
    sends = [
        ["send", key, [offset, entry_value(process, deal, part, len(places), 2)]]
        for part, (key, offset) in enumerate(places)
    ]
    return process, outcome, "txn", sends


def entries(process: int, *read: tuple[str, int, int, int, int]) -> Any:
    """A poll of entries: key, offset, deal of process 0, part, parts."""
    found: dict[str, list[Any]] = {}
    for key, offset, deal, part, parts in read:
        found.setdefault(key, []).append([offset, entry_value(0, deal, part, parts, 2)])
    return process, "ok", "poll", [["poll", found]]


GUILTY = {
    "lost-write": (sent(0, "x", (0, 1)), sent(0, "x", (1, 2)), polled(1, "x", (1, 2))),
    "duplicate": (sent(0, "x", (0, 1)), polled(1, "x", (0, 1), (1, 1))),
    "inconsistent-offsets": (sent(0, "x", (0, 1)), polled(1, "x", (0, 2))),
    "G1a": (sent(0, "x", (None, 1), outcome="fail"), polled(1, "x", (0, 1))),
    "nonmonotonic-poll": (
        sent(0, "x", (0, 1), (1, 2)),
        polled(1, "x", (0, 1), (1, 2)),
        polled(1, "x", (1, 2)),
    ),
    "poll-skip": (
        sent(0, "x", (0, 1), (1, 2), (2, 3)),
        polled(1, "x", (0, 1)),
        polled(1, "x", (2, 3)),
    ),
    "int-poll-skip": (sent(0, "x", (0, 1), (1, 2), (2, 3)), polled(1, "x", (0, 1), (2, 3))),
    "int-nonmonotonic-poll": (sent(0, "x", (0, 1), (1, 2)), polled(1, "x", (1, 2), (0, 1))),
    "nonmonotonic-send": (sent(0, "x", (1, 1)), sent(0, "x", (0, 2))),
    "int-nonmonotonic-send": (sent(0, "x", (1, 1), (0, 2)),),
    "int-send-skip": (sent(1, "x", (1, 7)), sent(0, "x", (0, 1), (2, 2))),
    "producer-order": (sent(0, "x", (1, 1)), assigned(0, []), sent(0, "x", (0, 2))),
    "G1c": (
        (0, "ok", "txn", [["send", "x", [0, 1]], ["poll", {"y": [[0, 2]]}]]),
        (1, "ok", "txn", [["send", "y", [0, 2]], ["poll", {"x": [[0, 1]]}]]),
    ),
    "unseen": (sent(0, "x", (0, 1)), polled(1, "x")),
    "torn-transaction": (
        (0, "ok", "txn", [["send", "x", [0, 1]], ["send", "y", [0, 2]]]),
        sent(1, "y", (1, 3)),
        polled(2, "x", (0, 1)),
        polled(2, "y", (1, 3)),
    ),
    "phantom-read": (sent(0, "x", (0, 1)), polled(1, "y", (0, 1))),
    "precommitted-read": ((0, "ok", "txn", [["send", "x", [0, 1]], ["poll", {"x": [[0, 1]]}]]),),
    "nonlinearizable-log": (sent(0, "x", (1, 1)), sent(1, "x", (0, 2))),
    "stale-read": (assigned(1, ["x"]), sent(0, "x", (0, 1)), polled(1, "x")),
    "watermark-regression": (
        (0, "ok", "end-offsets", {"high": {"x": 5}}),
        (0, "ok", "end-offsets", {"high": {"x": 4}}),
    ),
    "hanging-transaction": (
        (0, "ok", "txn", [["send", "x", [0, 1]]]),
        (1, "ok", "end-offsets", {"high": {"x": 2}, "stable": {"x": 0}}),
    ),
    "commit-regression": (
        commit("commit", 5),
        commit("commit", 7),
        commit("committed", 5),
    ),
    "lost-commit": (commit("commit", 5), commit("committed", None)),
    "zombie-commit": (commit("commit", 5, 3), commit("commit", 4, 2)),
    "two-owners": (owned(0, "assigned", 1), owned(1, "assigned", 1)),
    "at-least-once": (
        owned(0, "assigned", 1),
        sent(1, "x", (0, 1), (1, 2)),
        polled(0, "x", (0, 1)),
        commit("commit", 2),
    ),
    "undelivered": (
        owned(0, "assigned", 1),
        sent(1, "x", (0, 1), (1, 2)),
        polled(0, "x", (0, 1)),
        polled(1, "x", (0, 1), (1, 2)),
    ),
    "exactly-once": (transformed(0, 0, 1), transformed(1, 0, 2)),
    "processed-offsets": (transformed(0, 0, 1), commit("committed", 2)),
    # The credit of the first transfer lies below the second one's, which this process was returned.
    "bank-total": (
        dealt(0, 1, ("x", 0), ("y", 0)),
        dealt(0, 2, ("x", 2), ("y", 2)),
        entries(1, ("x", 0, 1, 0, 2), ("y", 2, 2, 1, 2), ("x", 2, 2, 0, 2)),
    ),
    "oversold": (
        dealt(0, 1, ("x", 0), ("y", 0), ("z", 0), outcome="info"),
        entries(1, ("x", 0, 1, 0, 3), ("y", 0, 1, 1, 3)),
    ),
    "compaction-lost-key": (
        (0, "ok", "put", [["put", "x/a", [0, 1]]]),
        (1, "ok", "get", [["get", "x/a", None]]),
    ),
    "compaction-resurrected-key": (
        (0, "ok", "put", [["put", "x/a", [0, 1]]]),
        (0, "ok", "put", [["put", "x/a", [1, None]]]),
        (1, "ok", "get", [["get", "x/a", 1]]),
    ),
    "list-append": (
        appended(0, "x", 1),
        appended(0, "x", 2),
        (1, "ok", "txn", [["r", "x", [1, 2]]]),
        (2, "ok", "txn", [["r", "x", [2]]]),
    ),
    "lost-append": (appended(0, "x", 1), appended(0, "x", 2), polled(1, "x", (1, 2))),
    "phantom-append": (appended(0, "x", 1), (1, "ok", "txn", [["r", "x", [1, 2]]])),
    "replaced-get": (put(0, 0, 1), put(0, 1, 2), got(1, 2, 1)),
    "lost-put": (put(0, 0, 1), put(0, 1, 2), polled(1, "x", (0, 1))),
    # The second put began when the first was acknowledged, and is before it in the log.
    "nonlinearizable-register": (put(0, 5, 1), put(0, 4, 2), got(1, 6, 1)),
    "phantom-topic": (made(0), described(1, 7)),
    "lost-change": (made(0), described(1, None, settled=True)),
    "timestamp-order": (
        sent(0, "x", (0, 1), (1, 2)),
        stamped(polled(1, "x", (0, 1)), 70),
        stamped(polled(1, "x", (1, 2)), 69),
    ),
    "key-order": (keyed(0, "k1", ("t-0", 1, 1)), keyed(0, "k1", ("t-0", 0, 2))),
    "key-moved": (
        (0, "ok", "partitioner", "custom"),
        assigned(0, ["t-0", "t-1"]),
        keyed(0, "k1", ("t-0", 0, 1)),
    ),
}
INNOCENT = {
    # Beyond the last record that anybody read a record is only late.
    "lost-write": (sent(0, "x", (0, 1)), sent(0, "x", (1, 2)), polled(1, "x", (0, 1))),
    # The same value in another log is another record.
    "duplicate": (sent(0, "x", (0, 1)), sent(0, "y", (3, 1)), polled(1, "x", (0, 1))),
    # Not even a client knows whether this one took effect, and nobody saw it.
    "inconsistent-offsets": (sent(0, "x", (0, 1), outcome="info"), polled(1, "x", (0, 2))),
    "G1a": (sent(0, "x", (None, 1), outcome="info"), polled(1, "x", (0, 1))),
    "nonmonotonic-poll": (
        sent(0, "x", (0, 1), (1, 2)),
        polled(1, "x", (0, 1), (1, 2)),
        assigned(1, ["y"]),
        assigned(1, ["x"]),
        polled(1, "x", (1, 2)),
    ),
    # A gap in the offsets is no record.
    "poll-skip": (sent(0, "x", (0, 1), (2, 3)), polled(1, "x", (0, 1)), polled(1, "x", (2, 3))),
    "int-poll-skip": (sent(0, "x", (0, 1), (2, 3)), polled(1, "x", (0, 1), (2, 3))),
    "int-nonmonotonic-poll": (sent(0, "x", (0, 1), (1, 2)), polled(1, "x", (0, 1), (1, 2))),
    "nonmonotonic-send": (sent(0, "x", (1, 1)), sent(1, "x", (0, 2))),
    "int-nonmonotonic-send": (sent(0, "x", (0, 1), (4, 2)),),
    # Nobody else is between them: there is no record at the offset left out.
    "int-send-skip": (sent(1, "x", (3, 7)), sent(0, "x", (0, 1), (2, 2))),
    "producer-order": (sent(0, "x", (1, 1)), sent(0, "y", (0, 2))),
    "G1c": (
        (0, "ok", "txn", [["send", "x", [0, 1]]]),
        (1, "ok", "txn", [["send", "y", [0, 2]], ["poll", {"x": [[0, 1]]}]]),
    ),
    "unseen": (sent(0, "x", (0, 1)), polled(1, "x", (0, 1))),
    # Nobody has read y so far.
    "torn-transaction": (
        (0, "ok", "txn", [["send", "x", [0, 1]], ["send", "y", [0, 2]]]),
        polled(2, "x", (0, 1)),
    ),
    "phantom-read": (sent(0, "x", (0, 1), outcome="info"), polled(1, "x", (0, 1))),
    "precommitted-read": ((0, "ok", "txn", [["send", "x", [1, 1]], ["poll", {"x": [[0, 0]]}]]),),
    "nonlinearizable-log": (sent(0, "x", (0, 1)), sent(1, "x", (1, 2))),
    "stale-read": (assigned(1, ["x"]), polled(1, "x"), sent(0, "x", (0, 1))),
    "watermark-regression": (
        (0, "ok", "end-offsets", {"high": {"x": 5}}),
        (0, "ok", "end-offsets", {"high": {"x": 5}, "stable": {"x": 4}}),
        # A replaced leader may answer another client until it learns of it.
        (1, "ok", "end-offsets", {"high": {"x": 4}}),
    ),
    "hanging-transaction": (
        (0, "ok", "txn", [["send", "x", [0, 1]]]),
        (1, "ok", "end-offsets", {"high": {"x": 2}, "stable": {"x": 2}}),
    ),
    "commit-regression": (commit("commit", 7), commit("commit", 5), commit("committed", 5)),
    "lost-commit": (commit("committed", None), commit("commit", 5), commit("committed", 5)),
    "zombie-commit": (commit("commit", 5, 3), commit("commit", 6, 3)),
    "two-owners": (owned(0, "assigned", 1), owned(0, "revoked", 1), owned(1, "assigned", 1)),
    # Another member of the group may have been given the first record.
    "at-least-once": (
        owned(2, "assigned", 1),
        owned(0, "assigned", 2),
        sent(1, "x", (0, 1), (1, 2)),
        polled(2, "x", (0, 1)),
        polled(0, "x", (1, 2)),
        commit("commit", 2),
    ),
    "undelivered": (
        owned(0, "assigned", 1),
        sent(1, "x", (0, 1), (1, 2)),
        polled(0, "x", (0, 1), (1, 2)),
    ),
    "exactly-once": (transformed(0, 0, 1), transformed(1, 1, 2)),
    "processed-offsets": (transformed(0, 0, 1), commit("committed", 1)),
    # Whoever has not come to the credit yet has not missed it.
    "bank-total": (
        dealt(0, 1, ("x", 0), ("y", 0)),
        dealt(0, 2, ("x", 2), ("y", 2)),
        entries(1, ("x", 0, 1, 0, 2), ("x", 2, 2, 0, 2)),
        entries(2, ("y", 0, 1, 1, 2), ("y", 2, 2, 1, 2)),
    ),
    "oversold": (
        dealt(0, 1, ("x", 0), ("y", 0), ("z", 0), outcome="info"),
        entries(1, ("x", 0, 1, 0, 3), ("y", 0, 1, 1, 3), ("z", 0, 1, 2, 3)),
    ),
    "compaction-lost-key": (
        (0, "ok", "put", [["put", "x/a", [0, 1]]]),
        (0, "ok", "put", [["put", "x/a", [1, None]]]),
        (1, "ok", "get", [["get", "x/a", None]]),
    ),
    "compaction-resurrected-key": (
        (0, "ok", "put", [["put", "x/a", [0, 1]]]),
        (1, "ok", "get", [["get", "x/a", 1]]),
    ),
    "list-append": (
        appended(0, "x", 1),
        appended(0, "x", 2),
        (1, "ok", "txn", [["r", "x", [1, 2]]]),
        (2, "ok", "txn", [["r", "x", [1, 2]]]),
    ),
    # While all goes on a read may lack what was acknowledged elsewhere.
    "lost-append": (
        appended(0, "x", 1),
        (1, "ok", "txn", [["r", "x", []]]),
        polled(1, "x", (0, 1)),
    ),
    "phantom-append": (
        (0, "info", "txn", [["append", "x", 1]]),
        (1, "ok", "txn", [["r", "x", [1]]]),
    ),
    # What was replaced at or beyond the end that was read to may still be got.
    "replaced-get": (put(0, 0, 1), put(0, 1, 2), got(1, 1, 1)),
    "lost-put": (put(0, 0, 1), put(0, 1, 2), polled(1, "x", (1, 2))),
    # A deposed leader does not know of what was acknowledged at and beyond its end.
    "nonlinearizable-register": (put(0, 4, 1), put(0, 5, 2), got(1, 6, 2), got(2, 5, 1)),
    "phantom-topic": (made(0), described(1, None), described(1, 3)),
    # A broker that has not heard of it yet says nothing of it.
    "lost-change": (made(0), described(1, None), described(1, 3, settled=True)),
    # Two batches within one millisecond; and producers' clocks do not matter.
    "timestamp-order": (
        stamped(sent(0, "x", (0, 1), (1, 2)), 90, 80),
        stamped(polled(1, "x", (0, 1), (1, 2)), 70, 70),
        stamped(polled(2, "y", (0, 3)), 60),
    ),
    # Offsets of two partitions cannot be compared.
    "key-order": (keyed(0, "k1", ("t-0", 1, 1)), keyed(0, "k1", ("t-1", 0, 2))),
    "key-moved": (
        (0, "ok", "partitioner", "custom"),
        assigned(0, ["t-0", "t-1"]),
        keyed(0, "k1", ("t-1", 0, 1)),
    ),
}
