"""A client's life tells what was on the wire before it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from harness.client.base import Completion, Invocation
from harness.client.traffic import Meter, Traffic
from harness.run.life import Life
from tests.unit.harness.run.test_life import CLIENTS, STEP_NS, ScriptedClient, Sends, StepClock


class CountingClient(ScriptedClient):
    """Had one request on the wire for each operation since it was asked last."""

    def __init__(self, answer: Callable[[Invocation], Completion], log: list[str]) -> None:
        super().__init__(answer, log)
        self._meter = Meter()

    async def invoke(self, invocation: Invocation) -> Completion:
        if invocation.f == "send":
            self._meter.sent([(1, 70)])
            self._meter.ended([(1, 70)])
        return await super().invoke(invocation)

    def traffic(self) -> Traffic:
        return self._meter.take()


def test_traffic_is_told_once_a_second_and_when_a_client_is_given_up() -> None:
    """The last of a client that is thrown away is not lost with it."""
    told: list[Traffic] = []
    rows: list[Any] = []

    def answer(invocation: Invocation) -> Completion:
        is_last = invocation.f == "send" and invocation.value[0][2] == 700
        return Completion("info" if is_last else "ok", invocation.value)

    life = Life(
        1,
        CLIENTS,
        Sends(),
        lambda process: CountingClient(answer, []),
        StepClock(),
        lambda *row: rows.append(row),
        on_traffic=told.append,
    )

    async def main() -> None:
        await life.open()
        await life.load(0, 4_500 * STEP_NS, 0)

    asyncio.run(main())
    sent = sum(row[2:4] == ("invoke", "send") for row in rows)
    assert sent > 700
    assert sum(each.records for each in told) == sent
    assert 5 <= len(told) <= 7, "four seconds, the end of a process, and the end of the load"
