"""Operations of a transactional producer: init-transactions, fence, txn, transform.

A transaction is one operation. It is `ok` if its commit was acknowledged, and `fail` if it is
certainly aborted, now or later: no commit of it was asked for, and the coordinator ends what
was left open when the time is up or the next producer of the id begins. It is `info` only if a
commit was asked for and what became of it is not known. Each step, what it was answered and how
long that took stands in a row of its own beside the operation (`transaction`).

A producer that is fenced, or beyond use otherwise, ends its process; the client goes on with a new
one, which takes the transactional id over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.client.base import Beside, Completion, Outcome
from harness.client.driver import DriverError, Stored
from harness.client.records import MicroOp, acknowledge, known, to_store
from harness.client.transactions_driver import FENCED, TransactionDriver, TransactionError

_NS = 1_000_000_000
_RETRY_FOR_NS = 10 * _NS
"""A step whose error says that it may be tried again is tried for so long."""
_RETRY_AFTER_S = 0.1
_ON_REQUEST = DriverError("ABORTED", "as the workload asked")


class Reading(Protocol):
    """What a transaction needs of the client around it."""

    async def poll_into(
        self, micro_op: MicroOp, at: int, stamps: list[Any], first_polled: dict[str, int]
    ) -> None: ...

    async def went_back(self, first_polled: Mapping[str, int]) -> bool: ...

    def stamps(self, count: int) -> list[Any]: ...


@dataclass(slots=True)
class _Course:
    """One transaction: its steps so far, and what came of it."""

    steps: list[list[Any]] = field(default_factory=list)
    """[name, "ok" or the error's name, milliseconds]"""
    outcome: Outcome = "ok"
    error: DriverError | None = None
    is_over: bool = False
    """Whether the producer has to be replaced."""

    @property
    def end(self) -> str:
        if self.outcome != "fail":
            return "committed" if self.outcome == "ok" else "unknown"
        return "aborted" if ["abort", "ok"] in [step[:2] for step in self.steps] else "left"


class Transactions:
    def __init__(
        self, driver: TransactionDriver, reading: Reading, now_ns: Callable[[], int]
    ) -> None:
        self._driver = driver
        self._reading = reading
        self._now_ns = now_ns
        self._id: str | None = None

    @property
    def is_begun(self) -> bool:
        """Whether this client has a transactional producer, so that `txn` is a transaction."""
        return self._id is not None

    async def init(self, value: Mapping[str, Any]) -> Completion:
        name, timeout_ms = value["id"], value["timeout-ms"]
        try:
            await self._retried(lambda: self._driver.init_transactions(name, timeout_ms))
        except DriverError as error:
            self._id = None
            return Completion("info", value, str(error))
        self._id = name
        return Completion("ok", {**value, **self._who()})

    async def fence(self, value: Mapping[str, Any]) -> Completion:
        """Takes the transactional id of another client away from it."""
        try:
            await self._driver.fence(value["id"], value["timeout-ms"])
        except DriverError as error:
            # Whether somebody was fenced is seen by who is. It changes no log.
            return Completion("fail", value, str(error))
        return Completion("ok", value)

    async def txn(self, value: Sequence[MicroOp]) -> Completion:
        """The micro-operations in order; sends that follow one another are sent together."""
        done = [list(each) for each in value]
        stamps: list[Any] = [None] * len(done)
        first_polled: dict[str, int] = {}

        async def body(course: _Course) -> bool:
            at = 0
            while at < len(done):
                count = _run_of_sends(done, at)
                if count:
                    await self._send(course, done[at : at + count], stamps, at)
                else:
                    if done[at][0] == "abort":
                        return True
                    await self._single(course, done[at], at, stamps, first_polled)
                at += max(1, count)
            return False

        course = await self._transaction(body)
        if course.outcome != "ok" and not await self._reading.went_back(first_polled):
            course.is_over = True
        return self._completion(course, done, known(stamps))

    async def transform(self, value: Mapping[str, Any], offsets: Mapping[str, int]) -> Completion:
        """Sends the outputs, and commits the inputs' offsets, in one transaction."""
        sends: list[MicroOp] = [["send", key, made] for key, (_, made) in value["out"]]
        stamps: list[Any] = [None] * len(sends)

        async def body(course: _Course) -> bool:
            await self._send(course, sends, stamps, 0)
            await self._step(course, "offsets", lambda: self._driver.send_offsets(offsets))
            return False

        course = await self._transaction(body)
        out = [[key, sent if isinstance(sent, list) else [None, sent]] for _, key, sent in sends]
        return self._completion(course, {"in": value["in"], "out": out}, None)

    # One transaction

    async def _transaction(self, body: Callable[[_Course], Awaitable[bool]]) -> _Course:
        """`body` returns whether the transaction is to be aborted."""
        course = _Course()
        try:
            await self._step(course, "begin", self._driver.begin_transaction)
            is_to_abort = await body(course)
        except DriverError as error:
            course.outcome, course.error = "fail", error
            await self._abort(course)
            return course
        if is_to_abort:
            course.outcome, course.error = "fail", _ON_REQUEST
            await self._abort(course)
            return course
        try:
            await self._step(course, "commit", self._driver.commit_transaction)
        except TransactionError as error:
            course.outcome, course.error = "fail" if error.harmless else "info", error
            if error.recovery == "abort":
                await self._abort(course)
            else:
                course.is_over = True
        return course

    async def _abort(self, course: _Course) -> None:
        error = course.error
        if isinstance(error, TransactionError) and error.recovery == "close":
            course.is_over = True
            return
        try:
            await self._step(course, "abort", self._driver.abort_transaction)
        except TransactionError as problem:
            course.is_over = True
            if problem.is_fencing:
                course.error = problem

    async def _send(
        self, course: _Course, sends: Sequence[MicroOp], stamps: list[Any], first: int
    ) -> None:
        """Writes offsets into those that are acknowledged; raises the first error."""
        mine = self._reading.stamps(len(sends))
        stamps[first : first + len(sends)] = mine
        begun_ns = self._now_ns()
        ends = await self._driver.produce_in_transaction(
            [to_store(each[1], each[2], stamp) for each, stamp in zip(sends, mine, strict=True)]
        )
        problem: DriverError | None = None
        for micro_op, end in zip(sends, ends, strict=True):
            if isinstance(end, Stored):
                acknowledge(micro_op, end.offset)
            else:
                problem = problem or end
        self._note(course, "send", begun_ns, problem)
        if problem is not None:
            raise problem

    async def _single(
        self,
        course: _Course,
        micro_op: MicroOp,
        at: int,
        stamps: list[Any],
        first_polled: dict[str, int],
    ) -> None:
        if micro_op[0] == "pause":
            await asyncio.sleep(micro_op[1] / 1000)
        elif micro_op[0] == "poll":
            await self._reading.poll_into(micro_op, at, stamps, first_polled)
        else:
            raise ValueError(f"{micro_op[0]!r} cannot be done in a transaction")

    async def _step(self, course: _Course, name: str, step: Callable[[], Awaitable[None]]) -> None:
        begun_ns = self._now_ns()
        try:
            await self._retried(step)
        except DriverError as error:
            self._note(course, name, begun_ns, error)
            raise
        self._note(course, name, begun_ns, None)

    async def _retried(self, step: Callable[[], Awaitable[None]]) -> None:
        give_up_ns = self._now_ns() + _RETRY_FOR_NS
        while True:
            try:
                return await step()
            except TransactionError as error:
                if error.recovery != "retry" or self._now_ns() >= give_up_ns:
                    raise
            await asyncio.sleep(_RETRY_AFTER_S)

    def _note(self, course: _Course, name: str, begun_ns: int, error: DriverError | None) -> None:
        taken_ms = (self._now_ns() - begun_ns) // 1_000_000
        course.steps.append([name, "ok" if error is None else error.name, taken_ms])

    # What is recorded

    def _who(self) -> dict[str, Any]:
        producer, epoch, protocol = self._driver.producer_identity()
        return {"producer": producer, "epoch": epoch, "protocol": protocol}

    def _completion(self, course: _Course, value: Any, timestamps: list[Any] | None) -> Completion:
        is_fenced = any(step[1] in FENCED for step in course.steps)
        row = {
            "id": self._id,
            **self._who(),
            "end": course.end,
            "fenced": is_fenced,
            "steps": course.steps,
        }
        return Completion(
            course.outcome,
            value,
            None if course.error is None else str(course.error),
            timestamps=timestamps,
            beside=(Beside(self._now_ns(), "ok", "transaction", row),),
            is_last=course.is_over,
        )


def _run_of_sends(micro_ops: Sequence[MicroOp], begin: int) -> int:
    end = begin
    while end < len(micro_ops) and micro_ops[end][0] == "send":
        end += 1
    return end - begin
