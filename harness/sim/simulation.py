"""One run: a loop, its decisions, its network and its trace, made from one seed."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from harness.decisions import Decisions, Override
from harness.sim.disposal import dispose
from harness.sim.links import LinkTimes
from harness.sim.loop import SimLoop, SimulationError
from harness.sim.network import SimNetwork
from harness.sim.trace import Trace
from harness.sim.transports import StockCalls
from harness.wire.match import MessageFaults

_Result = TypeVar("_Result")


class UncaughtError(SimulationError):
    """A callback or a task of a process failed, and nobody took notice."""


class Simulation:
    """To be closed, or used in a `with`: what still waits is put away then."""

    def __init__(
        self,
        seed: int,
        *,
        overrides: Iterable[Override] = (),
        message_faults: MessageFaults | None = None,
        link_times: LinkTimes | None = None,
    ) -> None:
        self.seed = seed
        self.decisions = Decisions(seed, overrides)
        self.loop = SimLoop(self.decisions)
        self.trace = Trace(self.loop)
        self.network = SimNetwork(
            self.loop, self.trace, times=link_times, message_faults=message_faults
        )
        self.network.host(self.loop.outside.host)
        StockCalls(self.network)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def now_s(self) -> float:
        return self.loop.time()

    def run(self, main: Coroutine[Any, Any, _Result], *, deadline_s: float) -> _Result:
        """Until `main` ends; nodes may still be running then, and go on at the next run.

        `deadline_s` is a moment of simulated time. Raises DeadlineError, DeadlockError,
        LivelockError, or UncaughtError with the first failure that nobody took.
        """
        result = self.loop.run_main(main, deadline_s=deadline_s)
        self._raise_uncaught()
        return result

    def _raise_uncaught(self) -> None:
        errors = [*self.loop.errors, *self._untold_failures()]
        if errors:
            first = errors[0]
            raise UncaughtError(
                f"{len(errors)} failures that nobody took; the first: {first['message']}"
            ) from first.get("exception")

    def _untold_failures(self) -> Iterator[dict[str, Any]]:
        """Tasks are kept, so asyncio, which tells of them as they are collected, is not heard.

        Not those whose failure somebody is about to hear of.
        """
        lives = self.loop.lives
        told_soon = {id(each) for life in lives for handle in life.ready for each in handle._args}
        for life in lives:
            for task in life.untold_failures():
                if id(task) not in told_soon:
                    name = getattr(task.get_coro(), "__qualname__", "a task")
                    yield {"message": f"{name} of {life.name}", "exception": task.exception()}

    def close(self) -> None:
        """Nothing that this sets free leaves a row in the trace."""
        dispose(self.loop)
