"""One client and its processes: opens it, does operations, and writes each down before and after.

A process that does not know what became of its operation is over: it retires, and the client goes
on as another process with a new connection to everything. So does one whose client says that it is
beyond use, as a fenced producer is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from harness.client.base import Beside, Client, Completion, Invocation, Preparing
from harness.client.traffic import Metered, Traffic
from harness.history.op import OpType, background_process
from workloads.base import Workload

_ASK_AGAIN_NS = 200_000_000

Emit = Callable[[int, int, OpType, str, Any, str | None, str | None, list[Any] | None], None]
"""time_ns, process, type, f, value, error, node, timestamps."""


class Clock(Protocol):
    def now_ns(self) -> int: ...

    async def sleep_until_ns(self, moment_ns: int) -> None: ...


def is_over(completion: Completion) -> bool:
    """Whether a process ends with this operation."""
    return completion.type == "info" or completion.is_last


class Processes:
    def __init__(
        self,
        number: int,
        clients: int,
        workload: Workload,
        make_client: Callable[[int], Client],
        clock: Clock,
        emit: Emit,
        *,
        process: int | None = None,
        ordinal: int = 0,
        on_traffic: Callable[[Traffic], None] = lambda _: None,
        on_idle: Callable[[bool], None] = lambda is_idle: None,
    ) -> None:
        """`on_traffic` is called about once a second of load with what was on the wire since."""
        self._number = number
        self._clients = clients
        self._workload = workload
        self._make_client = make_client
        self._clock = clock
        self._emit = emit
        self.process = number if process is None else process
        self._ordinal = ordinal
        self._drawn = ordinal
        """The ordinal after the last operation that the workload drew: a probe draws none."""
        self._client: Client | None = None
        self._is_stopped = False
        self._on_traffic = on_traffic
        self._traffic_told_ns = 0
        self._is_to_idle = False
        self._is_to_leave = False
        self._on_idle = on_idle
        self.is_idle = False

    def stop(self) -> None:
        """Ends a load or a drain after the operation under way."""
        self._is_stopped = True

    async def open(self) -> None:
        self._client = self._make_client(self.process)
        await self._client.open()

    async def close(self) -> None:
        if self._client is not None:
            self._tell_traffic()
            await self._client.close()
            self._client = None

    def _tell_traffic(self) -> None:
        self._traffic_told_ns = self._clock.now_ns()
        if isinstance(self._client, Metered):
            counted = self._client.traffic()
            if counted:
                self._on_traffic(counted)

    async def _answered(self, question: Invocation, deadline_ns: int) -> Completion | None:
        """It changes nothing, so it may be asked again, until the time is up.

        Leaders have just changed, and a new one may say that it does not know yet.
        """
        while not self._is_stopped and self._clock.now_ns() < deadline_ns:
            completion = await self._do(question)
            if completion.type == "ok":
                return completion
            if is_over(completion):
                await self._reopen()
            else:
                await self._clock.sleep_until_ns(self._clock.now_ns() + _ASK_AGAIN_NS)
        return None

    async def _do_all(self, operations: Iterable[Invocation]) -> bool:
        for operation in operations:
            if (await self._do(operation)).type != "ok":
                return False
        return True

    async def _do(self, operation: Invocation) -> Completion:
        assert self._client is not None
        process = self.process
        if isinstance(self._client, Preparing):
            operation, beside = self._client.prepare(operation)
            self._emit_beside(beside)
        f, value = operation.f, operation.value
        self._emit(self._clock.now_ns(), process, "invoke", f, value, None, None, None)
        completion = await self._client.invoke(operation)
        self._emit_beside(completion.beside)
        self._emit(
            self._clock.now_ns(),
            process,
            completion.type,
            f,
            completion.value,
            completion.error,
            completion.node,
            completion.timestamps,
        )
        return completion

    def _emit_beside(self, rows: Iterable[Beside]) -> None:
        for row in rows:
            process = self.process
            if row.background is not None:
                process = background_process(process, row.background)
            self._emit(row.time_ns, process, row.type, row.f, row.value, row.error, None, None)

    async def _retire(self, until_ns: int | None = None) -> None:
        """Again with a new client, until what it does first has gone well.

        Once at least: who does not know what became of its operation never speaks again.
        """
        while True:
            await self._reopen()
            if self._is_stopped or (until_ns is not None and self._clock.now_ns() >= until_ns):
                return
            if await self._do_all(self._workload.opening(self._number, self.process)):
                return

    async def _reopen(self) -> None:
        await self.close()
        self.process += self._clients
        await self.open()
