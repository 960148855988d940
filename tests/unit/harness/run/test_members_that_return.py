"""What a member of a group does when it was paused, or comes back to the group it left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.client.base import Completion, Invocation, Outcome
from harness.run.life import Life
from tests.unit.harness.run.test_life import CLIENTS, STEP_NS, ScriptedClient, Sends, StepClock
from workloads.base import Membership, Workload

STANDSTILL_NS = 7_000_000_000
AT = 3
"""Ordinal of the operation during which, or after which, the client stands still."""


class Consumes(Sends):
    clients_min = 1

    def membership(self, client: int) -> Membership | None:
        return Membership("g", Invocation("subscribe"), Invocation("committed"))


class Asleep(StepClock):
    """A pause that falls into the sleep before an operation."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self._left = before

    async def sleep_until_ns(self, moment_ns: int) -> None:
        await super().sleep_until_ns(moment_ns)
        self._left -= 1
        if self._left == 0:
            self.time_ns += STANDSTILL_NS


def operations(
    workload: Workload,
    clock: StepClock,
    answer: Callable[[Invocation], Completion],
    interval_ns: int = 0,
) -> list[Any]:
    """What was begun under load: ordinals of what was drawn, and the names of what was not."""
    rows: list[Any] = []

    def client_of(process: int) -> ScriptedClient:
        return ScriptedClient(answer, [])

    life = Life(1, CLIENTS, workload, client_of, clock, lambda *row: rows.append(row))

    async def main() -> None:
        await life.open()
        await life.load(0, STANDSTILL_NS + 1_000 * STEP_NS, interval_ns)

    asyncio.run(main())
    begun = [row for row in rows if row[2] == "invoke" and row[3] != "assign"]
    return [row[4][0][2] if row[3] == "send" else row[3] for row in begun]


def paused_during(clock: StepClock, *, outcome: Any = "ok") -> Callable[[Invocation], Completion]:
    def answer(invocation: Invocation) -> Completion:
        if invocation.f == "send" and invocation.value[0][2] == AT:
            clock.time_ns += STANDSTILL_NS
            return Completion(outcome, invocation.value)
        return Completion("ok", invocation.value)

    return answer


def test_a_member_paused_in_an_operation_commits_first_and_goes_on_where_it_was() -> None:
    clock = StepClock()
    begun = operations(Consumes(), clock, paused_during(clock))
    assert begun[: AT + 4] == [0, 1, 2, AT, "commit", AT + 1, AT + 2]
    assert begun.count("commit") == 1


@pytest.mark.parametrize("interval_ns", [20 * STEP_NS, 50 * STEP_NS])
def test_a_member_paused_between_operations_commits_first(interval_ns: int) -> None:
    clock = Asleep(AT + 1)
    begun = operations(
        Consumes(), clock, lambda asked: Completion("ok", asked.value), interval_ns=interval_ns
    )
    assert begun[: AT + 3] == [0, 1, 2, "commit", AT, AT + 1]
    assert begun.count("commit") == 1


def test_a_slow_rate_is_no_standstill() -> None:
    clock = StepClock()
    interval_ns = STANDSTILL_NS // 4 * 3
    begun = operations(
        Consumes(), clock, lambda asked: Completion("ok", asked.value), interval_ns=interval_ns
    )
    assert begun == [0, 1]


def test_a_client_without_a_group_has_nothing_to_commit() -> None:
    clock = StepClock()
    assert "commit" not in operations(Sends(), clock, paused_during(clock))


def test_a_process_that_replaces_a_paused_one_has_nothing_to_commit() -> None:
    clock = StepClock()
    assert "commit" not in operations(Consumes(), clock, paused_during(clock, outcome="info"))


class JoinsLate(Consumes):
    """As its first process a client does not begin as a member: it subscribes some time later."""

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return ()


@pytest.mark.parametrize(("left", "rejoins"), [("ok", True), ("fail", False)])
def test_a_client_that_left_its_group_comes_back_if_it_was_a_member(
    left: Outcome, rejoins: bool
) -> None:
    idle: list[bool] = []
    asked: list[str] = []

    def answer(invocation: Invocation) -> Completion:
        asked.append(invocation.f)
        return Completion(left if invocation.f == "leave" else "ok", invocation.value)

    def told(is_idle: bool) -> None:
        idle.append(is_idle)
        if is_idle:
            life.wake()

    life = Life(
        1,
        CLIENTS,
        JoinsLate(),
        lambda process: ScriptedClient(answer, []),
        StepClock(),
        lambda *row: None,
        on_idle=told,
    )

    async def main() -> None:
        await life.open()
        life.idle(leaves=True)
        await life.load(0, 100 * STEP_NS, 0)

    asyncio.run(main())
    assert idle == [True, False]
    assert asked[:2] == (["leave", "subscribe"] if rejoins else ["leave", "send"])
