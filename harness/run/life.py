"""A client's life in a run: one operation after the other, each written down before and after.

The same code lives in a worker process, around a client that blocks, and inside the simulator. A
process that does not know what became of its operation is over: it retires, and the client goes on
as another process with a new connection to everything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from harness.client.base import Beside, Client, Completion, Invocation, Preparing
from harness.client.traffic import Metered, Traffic
from harness.history.op import OpType, background_process
from harness.run.clients import Left, Tried, asked
from workloads.base import Membership, WithGroups, Workload

_NS = 1_000_000_000
_STUCK_NS = 10 * _NS
"""A reader without progress for so long is opened anew: its client may have got stuck."""
_ASK_AGAIN_NS = 200_000_000
_TELL_TRAFFIC_NS = _NS
_SETTLE_NS = 3 * _NS
"""Before the last questions: a broker that was cut off asks again within a second or two, and then
knows what the others do."""

_STOOD_STILL_NS = 3 * _NS
"""A client this late was paused, or waited for its cluster: its group may have removed it."""
_POLL = Invocation("poll", [["poll"]])
_COMMIT = Invocation("commit")
_POLLS_A_COMMIT = 4
_LEAVE = Invocation("leave")
_LOOK_AGAIN_NS = 50_000_000

Emit = Callable[[int, int, OpType, str, Any, str | None, str | None, list[Any] | None], None]
"""time_ns, process, type, f, value, error, node, timestamps."""


class Clock(Protocol):
    def now_ns(self) -> int: ...

    async def sleep_until_ns(self, moment_ns: int) -> None: ...


class Life:
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

    def idle(self, *, leaves: bool) -> None:
        """Under load it begins no operation until `wake`; with `leaves` it leaves its group."""
        self._is_to_leave = leaves
        self._is_to_idle = True

    def wake(self) -> None:
        self._is_to_idle = False

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
            is_late_member = stood_still and self._membership is not None
            alive_ns = clock.now_ns()
            completion = await self._do(_COMMIT if is_late_member else self._draw())
            if completion.type == "info":
                await self._retire(until_ns=end_ns)
            now_ns = clock.now_ns()
            if is_late_member or completion.type == "info":
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
    def _membership(self) -> Membership | None:
        workload = self._workload
        return workload.membership(self._number) if isinstance(workload, WithGroups) else None

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

    async def drain(self, ends: Mapping[str, int], deadline_ns: int) -> Left:
        """Reads this client's keys from the beginning to their ends, and asks its last questions.

        A log ends at its high watermark: what became of a send that nobody is sure of lies before
        it, and what was acknowledged beyond it is gone. `ends` are for logs that do not tell.
        """
        mine = {key: ends[key] for key in self._workload.drained_keys(self._number) if key in ends}
        # The end of a load may have asked for a stop that had nothing to end any more.
        self._is_stopped = False
        records = await self._read_back(mine, deadline_ns) if mine else {}
        if records:
            # Once more: what retention took meanwhile is not lost, and what lies beyond these ends
            # was not there yet when the log was read.
            await self._bounds(mine, deadline_ns)
        left = await self._catch_up(ends, deadline_ns)
        return Left(records, [*left, *await self._close_up(deadline_ns)])

    async def _catch_up(self, ends: Mapping[str, int], deadline_ns: int) -> list[str]:
        """As a member of its group, until the group has committed the end of every partition.

        Which member is given which partition is for the group to decide, so each asks what all of
        them have committed. Returns what the group has not come to.
        """
        member = self._membership
        if member is None:
            return []
        is_joined = False
        behind: Mapping[str, int] = ends
        while not self._is_stopped and self._clock.now_ns() < deadline_ns:
            if not is_joined:
                await self._reopen()
                is_joined = (await self._do(member.subscribe)).type == "ok"
                continue
            told = await self._poll_and_commit(member)
            if told is None:
                is_joined = False
            elif told.type == "ok":
                offsets = told.value["offsets"]
                behind = {key: end for key, end in ends.items() if (offsets.get(key) or 0) < end}
                if not behind:
                    return []
        return [f"group {member.group} has not committed the end of {key}" for key in behind]

    async def _poll_and_commit(self, member: Membership) -> Completion | None:
        """What the group has committed after some polls; None if this member is beyond use."""
        for operation in (*(_POLL,) * _POLLS_A_COMMIT, _COMMIT):
            if (await self._do(operation)).type == "info":
                return None
        told = await self._do(member.committed)
        return None if told.type == "info" else told

    async def _read_back(self, ends: Mapping[str, int], deadline_ns: int) -> Mapping[str, int]:
        bounds = await self._bounds(ends, deadline_ns)
        mine = {key: end for key, (_, end) in bounds.items()}
        reached = {key: begin for key, (begin, _) in bounds.items()}
        progress_ns = 0
        while not self._is_stopped and self._clock.now_ns() < deadline_ns:
            left = {key: end for key, end in mine.items() if reached[key] < end}
            if not left:
                break
            if progress_ns == 0 or self._clock.now_ns() - progress_ns > _STUCK_NS:
                await self._reopen()
                assigned = await self._do(Invocation("assign", {key: reached[key] for key in left}))
                progress_ns = self._clock.now_ns()
                if assigned.type != "ok":
                    progress_ns = 0
                    continue
            completion = await self._do(_POLL)
            if completion.type == "ok":
                if _advance(reached, completion.value):
                    progress_ns = self._clock.now_ns()
            elif completion.type == "info":
                progress_ns = 0
        return {key: max(0, end - reached[key]) for key, end in mine.items()}

    async def _close_up(self, deadline_ns: int) -> list[str]:
        """The workload's last questions; those that nobody answered."""
        questions = self._workload.closing(self._number, self._drawn)
        if questions:
            await self._clock.sleep_until_ns(self._clock.now_ns() + _SETTLE_NS)
        return [
            asked(question)
            for question in questions
            if await self._answered(question, deadline_ns) is None
        ]

    async def _bounds(
        self, ends: Mapping[str, int], deadline_ns: int
    ) -> dict[str, tuple[int, int]]:
        """Where each log begins and ends; the history has to know: what retention took is not lost.

        Without any answer nothing is read, and so nobody takes anything for read back.
        """
        told = await self._answered(Invocation("end-offsets", list(ends)), deadline_ns)
        if told is None:
            return {}
        low, high = told.value["low"], told.value["high"]
        return {key: (low.get(key, 0), high.get(key, end)) for key, end in ends.items()}

    async def _answered(self, question: Invocation, deadline_ns: int) -> Completion | None:
        """It changes nothing, so it may be asked again, until the time is up.

        Leaders have just changed, and a new one may say that it does not know yet.
        """
        while not self._is_stopped and self._clock.now_ns() < deadline_ns:
            completion = await self._do(question)
            if completion.type == "ok":
                return completion
            if completion.type == "info":
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


def _advance(reached: dict[str, int], value: Any) -> bool:
    """Whether a poll has come further with one of the keys."""
    is_further = False
    for micro in value:
        if micro[0] != "poll" or len(micro) < 2:
            continue
        for key, records in micro[1].items():
            if records and key in reached and records[-1][0] + 1 > reached[key]:
                reached[key] = records[-1][0] + 1
                is_further = True
    return is_further
