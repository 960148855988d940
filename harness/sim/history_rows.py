"""The rows of a history, kept in memory while a simulated run goes on.

The checkers judge them after the run (harness/run/simulated.py): they are above the simulator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.client.base import Beside, Completion, Invocation
from harness.history.op import Op, OpType, background_process


class HistoryRows:
    def __init__(self) -> None:
        self._ops: list[Op] = []
        self._processes = 0

    def __len__(self) -> int:
        return len(self._ops)

    def ops(self) -> list[Op]:
        """In the order of their times: what a client noted beside an operation comes late."""
        ordered = sorted(self._ops, key=lambda op: op.time_ns)
        return [replace(op, index=index) for index, op in enumerate(ordered)]

    def new_process(self) -> int:
        """A client whose last operation has an unknown end goes on as another process."""
        self._processes += 1
        return self._processes - 1

    def invoked(self, time_ns: int, process: int, invocation: Invocation) -> None:
        self._add(time_ns, process, "invoke", invocation.f, invocation.value)

    def completed(self, time_ns: int, process: int, f: str, completion: Completion) -> None:
        for row in completion.beside:
            self.beside(process, row)
        self._add(
            time_ns,
            process,
            completion.type,
            f,
            completion.value,
            error=completion.error,
            node=completion.node,
            timestamps=completion.timestamps,
        )

    def beside(self, process: int, row: Beside) -> None:
        if row.background is not None:
            process = background_process(process, row.background)
        self._add(row.time_ns, process, row.type, row.f, row.value, error=row.error)

    def _add(
        self,
        time_ns: int,
        process: int,
        type_: OpType,
        f: str,
        value: Any,
        *,
        error: str | None = None,
        node: str | None = None,
        timestamps: list[Any] | None = None,
    ) -> None:
        op = Op(len(self._ops), time_ns, process, type_, f, value, error, node)
        self._ops.append(replace(op, timestamps=timestamps))
