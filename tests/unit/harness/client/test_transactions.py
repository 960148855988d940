"""A transaction is one operation: what each of its steps makes of it, and what is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pytest

from harness.client.base import Completion
from harness.client.driver import DriverError, Stored, ToStore
from harness.client.records import MicroOp
from harness.client.transactions import Transactions
from harness.client.transactions_driver import (
    ProducerIdentity,
    Recovery,
    TransactionDriver,
    TransactionError,
)

SENDS = [["send", "t-0", 7], ["poll"], ["send", "t-1", 8]]
FENCED = TransactionError("PRODUCER_FENCED", recovery="close")


class Library:
    """A producer whose steps fail as the test says, each error once."""

    def __init__(self) -> None:
        self.errors: dict[str, list[DriverError]] = {}
        self.calls: list[str] = []

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    async def init_transactions(self, transactional_id: str, timeout_ms: int) -> None:
        self._called("init")

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        self._called("fence")

    def producer_identity(self) -> ProducerIdentity:
        return ProducerIdentity(11, 3, 1)

    async def begin_transaction(self) -> None:
        self._called("begin")

    async def produce_in_transaction(
        self, records: Sequence[ToStore]
    ) -> list[Stored | DriverError]:
        try:
            self._called("send")
        except DriverError as error:
            return [error for _ in records]
        return [Stored(at) for at, _ in enumerate(records)]

    async def send_offsets(self, offsets: Mapping[str, int]) -> None:
        self._called("offsets")

    async def commit_transaction(self) -> None:
        self._called("commit")

    async def abort_transaction(self) -> None:
        self._called("abort")


class Reader:
    def __init__(self) -> None:
        self.went_back_to: list[dict[str, int]] = []

    async def poll_into(
        self, micro_op: MicroOp, at: int, stamps: list[Any], first_polled: dict[str, int]
    ) -> None:
        first_polled["t-2"] = 5
        micro_op[1:] = [{"t-2": [[5, 1]]}]

    async def went_back(self, first_polled: Mapping[str, int]) -> bool:
        self.went_back_to.append(dict(first_polled))
        return True

    def stamps(self, count: int) -> list[Any]:
        return [1000] * count


def begun(library: Library, reader: Reader | None = None) -> Transactions:
    ticks = count(step=1_000_000_000)
    transactions = Transactions(library, reader or Reader(), lambda: next(ticks))
    done = asyncio.run(transactions.init({"id": "t", "timeout-ms": 3000}))
    assert done.type == "ok"
    return transactions


def txn(library: Library, value: Any = SENDS, reader: Reader | None = None) -> Completion:
    return asyncio.run(begun(library, reader).txn(value))


def row(completion: Completion) -> dict[str, Any]:
    (beside,) = completion.beside
    assert (beside.type, beside.f) == ("ok", "transaction")
    value: dict[str, Any] = beside.value
    return value


def failing(recovery: Recovery, name: str = "E", *, harmless: bool = False) -> TransactionError:
    return TransactionError(name, recovery=recovery, harmless=harmless)


def test_a_commit_that_is_acknowledged_is_ok_and_every_step_is_recorded() -> None:
    done = txn(Library())
    assert done.type == "ok"
    assert done.value == [
        ["send", "t-0", [0, 7]], ["poll", {"t-2": [[5, 1]]}], ["send", "t-1", [0, 8]]
    ]  # fmt: skip
    found = row(done)
    assert [step[:2] for step in found["steps"]] == [
        ["begin", "ok"], ["send", "ok"], ["send", "ok"], ["commit", "ok"]
    ]  # fmt: skip
    assert (found["end"], found["protocol"], found["producer"], found["epoch"]) == (
        "committed", 1, 11, 3
    )  # fmt: skip


def test_what_the_workload_aborts_failed_and_polls_are_repeated() -> None:
    library, reader = Library(), Reader()
    done = txn(library, [*SENDS, ["abort"]], reader)
    assert (done.type, done.is_last) == ("fail", False)
    assert row(done)["end"] == "aborted"
    assert "commit" not in library.calls
    assert reader.went_back_to == [{"t-2": 5}]


def test_a_record_without_an_acknowledgement_aborts_the_whole() -> None:
    library = Library()
    library.errors["send"] = [DriverError("_MSG_TIMED_OUT")]
    done = txn(library)
    assert (done.type, done.is_last) == ("fail", False)
    assert library.calls == ["init", "begin", "send", "abort"]
    assert row(done)["steps"][1][:2] == ["send", "_MSG_TIMED_OUT"]


@pytest.mark.parametrize("recovery", ["close", "abort"])
def test_a_commit_that_failed_may_have_been_committed(recovery: Recovery) -> None:
    library = Library()
    library.errors["commit"] = [failing(recovery)]
    done = txn(library)
    assert (done.type, row(done)["end"]) == ("info", "unknown")
    assert done.is_last is (recovery == "close")


def test_a_commit_that_was_refused_for_certain_is_none() -> None:
    library = Library()
    library.errors["commit"] = [failing("abort", harmless=True)]
    done = txn(library)
    assert (done.type, row(done)["end"]) == ("fail", "aborted")


def test_a_retriable_step_is_tried_again() -> None:
    library = Library()
    library.errors["commit"] = [failing("retry"), failing("retry")]
    assert txn(library).type == "ok"
    assert library.calls.count("commit") == 3


def test_a_step_is_not_tried_for_ever() -> None:
    library = Library()
    library.errors["commit"] = [failing("retry") for _ in range(1000)]
    done = txn(library)
    assert (done.type, done.is_last) == ("info", True)
    assert library.calls.count("commit") < 20


def test_who_is_fenced_before_the_commit_has_certainly_not_committed() -> None:
    for step in ("begin", "abort"):
        library = Library()
        library.errors[step] = [FENCED]
        done = txn(library, [*SENDS, ["abort"]])
        assert (done.type, done.is_last) == ("fail", True), step
        assert (row(done)["end"], row(done)["fenced"]) == ("left", True)


def test_a_transform_sends_outputs_and_offsets_in_one_transaction() -> None:
    library = Library()
    value = {"in": [["i-0", 3], ["i-0", 4]], "out": [["o-0", [None, 1]], ["o-0", [None, 2]]]}
    done = asyncio.run(begun(library).transform(value, {"i-0": 5}))
    assert library.calls == ["init", "begin", "send", "offsets", "commit"]
    assert done.value == {"in": value["in"], "out": [["o-0", [0, 1]], ["o-0", [1, 2]]]}
    library.errors["offsets"] = [failing("abort", "ILLEGAL_GENERATION")]
    done = asyncio.run(begun(library).transform(value, {"i-0": 5}))
    assert (done.type, row(done)["end"]) == ("fail", "aborted")


def _check(library: Library) -> TransactionDriver:
    """Static check: the library of these tests implements the protocol."""
    return library
