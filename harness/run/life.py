"""A client's life in a run: one operation after the other, each written down before and after.

The same code lives in a worker process, around a client that blocks, and inside the simulator. A
process that does not know what became of its operation is over: it retires, and the client goes on
as another process with a new connection to everything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.client.base import Invocation
from harness.run.clients import Tried
from harness.run.draining import Draining
from harness.run.processes import is_over
from workloads.base import WithTransforms

_NS = 1_000_000_000
_ASK_AGAIN_NS = 200_000_000
_TELL_TRAFFIC_NS = _NS

_STOOD_STILL_NS = 3 * _NS
"""A client this late was paused, or waited for its cluster: its group may have removed it."""
_COMMIT = Invocation("commit")
_LEAVE = Invocation("leave")
_LOOK_AGAIN_NS = 50_000_000


class Life(Draining):
    """A client under load, in calm, and at its end."""

    def idle(self, *, leaves: bool) -> None:
        """Under load it begins no operation until `wake`; with `leaves` it leaves its group."""
        self._is_to_leave = leaves
        self._is_to_idle = True

    def wake(self) -> None:
        self._is_to_idle = False

    async def load(self, begin_ns: int, end_ns: int, interval_ns: int) -> None:
        """Not faster than `interval_ns`, and after a delay without making up for it.

        A member that stood still first commits what it polled, as an application does that was
        paused while it processed records: the commit of a zombie, if its group has removed it.
        """
        self._is_stopped = False
        clock = self._clock
        if not await self._do_all(self._workload.opening(self._number, self.process)):
            await self._retire()
        due_ns = begin_ns + (self._number * interval_ns) // max(1, self._clients)
        alive_ns = max(due_ns, clock.now_ns())
        while not self._is_stopped:
            if self._is_to_idle:
                await self._stand_idle(end_ns)
            now_ns = clock.now_ns()
            if max(due_ns, now_ns) >= end_ns:
                break
            if due_ns > now_ns:
                await clock.sleep_until_ns(due_ns)
            stood_still = clock.now_ns() - alive_ns > interval_ns + _STOOD_STILL_NS
            is_late_member = stood_still and self._commits_what_it_polled
            alive_ns = clock.now_ns()
            completion = await self._do(_COMMIT if is_late_member else self._draw())
            if is_over(completion):
                await self._retire(until_ns=end_ns)
            now_ns = clock.now_ns()
            if is_late_member or is_over(completion):
                alive_ns = now_ns
            if now_ns - self._traffic_told_ns >= _TELL_TRAFFIC_NS:
                self._tell_traffic()
            due_ns = max(due_ns + interval_ns, now_ns)
        self._tell_traffic()
        self._is_stopped = False

    def _draw(self) -> Invocation:
        operation = self._workload.operation(self._number, self._ordinal)
        self._ordinal += 1
        self._drawn = self._ordinal
        return operation

    @property
    def _commits_what_it_polled(self) -> bool:
        """Not with offsets in transactions: a commit beside them would skip inputs."""
        return self._membership is not None and not isinstance(self._workload, WithTransforms)

    async def _stand_idle(self, end_ns: int) -> None:
        left = (await self._do(_LEAVE)).type if self._is_to_leave else "fail"
        if left == "info":
            await self._reopen()
        self._tell_idle(True)
        while self._is_to_idle and not self._is_stopped and self._clock.now_ns() < end_ns:
            await self._clock.sleep_until_ns(self._clock.now_ns() + _LOOK_AGAIN_NS)
        self._tell_idle(False)
        member = None if left == "fail" or self._is_stopped else self._membership
        if member is not None and not await self._do_all([member.subscribe]):
            await self._retire(until_ns=end_ns)

    def _tell_idle(self, is_idle: bool) -> None:
        self.is_idle = is_idle
        self._on_idle(is_idle)

    async def probe(self, keys: Collection[str], begin_ns: int, within_ns: int) -> dict[str, Tried]:
        """Writes to each of this client's keys until one write to it is acknowledged.

        A key is given up when a write to it ended in vain after `within_ns`, and was not the first:
        the time may have passed because the client itself stood still. A write in vain may take as
        long as the client's delivery does, and the next key waits meanwhile; so after twice that
        time no write is begun, and keys may be left that were tried for less.
        """
        self._is_stopped = False
        give_up_ns = begin_ns + 2 * within_ns
        tried: dict[str, Tried] = {}
        left = [key for key in self._workload.drained_keys(self._number) if key in keys]
        while left:
            for key in left:
                if self._is_stopped or self._clock.now_ns() >= give_up_ns:
                    left = []
                    break
                tried[key] = await self._try_write(key, tried.get(key), begin_ns)
            left = [key for key in left if tried[key].is_to_be_continued(within_ns)]
        in_vain = [key for key, each in tried.items() if not each.acknowledged]
        is_heard = len(in_vain) < len(tried) or await self._is_heard(in_vain, give_up_ns)
        return {key: each._replace(is_heard=is_heard) for key, each in tried.items()}

    async def _try_write(self, key: str, before: Tried | None, begin_ns: int) -> Tried:
        began_ns = self._clock.now_ns() - begin_ns if before is None else before.began_ns
        tries = 1 if before is None else before.tries + 1
        write = self._workload.write(self._number, self._ordinal, key)
        self._ordinal += 1
        completion = await self._do(write)
        until_ns = self._clock.now_ns() - begin_ns
        if completion.type == "ok":
            return Tried(began_ns, until_ns, tries, 1, until_ns - began_ns)
        # Also after a certain failure: a producer may be beyond help while its cluster is well.
        await self._reopen()
        await self._clock.sleep_until_ns(self._clock.now_ns() + _ASK_AGAIN_NS)
        return Tried(began_ns, until_ns, tries, error=completion.error)

    async def _is_heard(self, keys: Sequence[str], give_up_ns: int) -> bool:
        """Whether a leader answers this client at all: if none does, the client may be to blame."""
        for at, key in enumerate(keys):
            if self._is_stopped or (at > 0 and self._clock.now_ns() >= give_up_ns):
                break
            completion = await self._do(Invocation("end-offsets", [key]))
            if completion.type == "ok":
                return True
            if completion.type == "info":
                await self._reopen()
        return False
