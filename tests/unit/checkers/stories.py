"""Histories told in a few words: each line is an operation, invoked and completed."""

from __future__ import annotations

from typing import Any, NamedTuple

from harness.history.history import History
from harness.history.op import Op, OpType


class Stamps(NamedTuple):
    """Timestamps of the records of an operation, as the history keeps them."""

    of_records: list[Any]


def told(*operations: Any) -> History:
    """One after the other: (process, outcome, f, value), and perhaps timestamps as a `Stamps`.

    Invocations know nothing but their f, unless their value stands last. An operation whose outcome
    is None has no completion.
    """
    rows: list[Op] = []
    for process, outcome, f, value, *more in operations:
        asked = [each for each in more if not isinstance(each, Stamps)]
        stamps = next((each.of_records for each in more if isinstance(each, Stamps)), None)
        rows.append(Op(len(rows), len(rows), process, "invoke", f, *asked))
        if outcome is not None:
            done = Op(len(rows), len(rows), process, outcome, f, value, timestamps=stamps)
            rows.append(done)
    return History.of(rows)


def stamped(operation: Any, *stamps: int | None) -> Any:
    """The same send or poll of one key with the timestamps of its records."""
    process, outcome, f, value = operation
    if f == "poll":
        ((_, polled),) = value
        return process, outcome, f, value, Stamps([{key: list(stamps) for key in polled}])
    return process, outcome, f, value, Stamps(list(stamps))


def sent(process: int, key: str, *pairs: tuple[int | None, Any], outcome: OpType = "ok") -> Any:
    return process, outcome, "send", [["send", key, list(pair)] for pair in pairs]


def keyed(
    process: int, name: str, *placed: tuple[str, int | None, int], outcome: OpType | None = "ok"
) -> Any:
    """Sends records with this key: each went to a partition, perhaps at an offset."""
    asked = [["send", f"t/{name}", value] for _, _, value in placed]
    done = [
        ["send", log, value if offset is None else [offset, value]] for log, offset, value in placed
    ]
    return process, outcome, "send", done, asked


def grown(process: int, partitions: int, outcome: OpType = "ok") -> Any:
    return process, outcome, "create-partitions", {"topic": "t", "partitions": partitions}


def polled(process: int, key: str, *pairs: tuple[int | None, Any], outcome: OpType = "ok") -> Any:
    return process, outcome, "poll", [["poll", {key: [list(pair) for pair in pairs]}]]


def assigned(process: int, value: Any, outcome: OpType = "ok") -> Any:
    return process, outcome, "assign", value


def appended(process: int, key: str, value: Any, outcome: OpType = "ok") -> Any:
    return process, outcome, "txn", [["append", key, value]]


def put(process: int, offset: int | None, value: Any, outcome: OpType = "ok") -> Any:
    """To one name of the log x."""
    return process, outcome, "put", [["put", "x/a", [offset, value]]]


def got(process: int, end: int, value: Any) -> Any:
    return process, "ok", "get", [["get", "x/a", [end, value]]]


def made(process: int, outcome: OpType = "ok", **configs: Any) -> Any:
    return process, outcome, "create", {"topic": "t", "partitions": 3, "configs": configs}


def altered(process: int, outcome: OpType = "ok", **configs: Any) -> Any:
    return process, outcome, "alter", {"topic": "t", "configs": configs}


def deleted(process: int, outcome: OpType = "ok") -> Any:
    return process, outcome, "delete", {"topic": "t"}


def described(
    process: int, partitions: int | None, *, settled: bool = False, **configs: Any
) -> Any:
    said = {"topic": "t", "partitions": partitions, "configs": configs}
    return process, "ok", "describe", said | ({"settled": True} if settled else {})
