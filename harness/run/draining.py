"""The end of a client's life: everything is read back, and last questions are asked.

A log ends at its high watermark, or where the first open transaction begins: what lies behind it is
shown to no consumer. So a run with transactions waits first until none is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.client.base import Completion, Invocation
from harness.run.clients import Left, asked
from harness.run.processes import Processes, is_over
from workloads.base import Membership, WithGroups, WithTransactions, WithTransforms

_NS = 1_000_000_000
_MS = 1_000_000
_STUCK_NS = 10 * _NS
"""A reader without progress for so long is opened anew: its client may have got stuck."""
_SETTLE_NS = 3 * _NS
"""Before the last questions: a broker that was cut off asks again within a second or two, and then
knows what the others do."""
_ASK_AGAIN_NS = 200_000_000

_POLL = Invocation("poll", [["poll"]])
_POLLS_A_COMMIT = 4


class Draining(Processes):
    async def drain(self, ends: Mapping[str, int], deadline_ns: int) -> Left:
        """Reads this client's keys from the beginning to their ends, and asks its last questions.

        A log ends at its high watermark: what became of a send with an unknown outcome lies before
        it, and what was acknowledged beyond it is gone. `ends` are for logs that do not tell.
        """
        mine = {key: ends[key] for key in self._workload.drained_keys(self._number) if key in ends}
        # The end of a load may have asked for a stop that had nothing to end any more.
        self._is_stopped = False
        left: list[str] = []
        is_transformed = isinstance(self._workload, WithTransforms)
        if is_transformed:
            # What members make of the last inputs has to be read back, too.
            left = await self._catch_up(ends, deadline_ns)
        await self._await_last_transactions(mine, deadline_ns)
        records = await self._read_back(mine, deadline_ns) if mine else {}
        if records:
            # Once more: what retention took meanwhile is not lost, and what lies beyond these ends
            # was not there yet when the log was read.
            await self._bounds(mine, deadline_ns)
        if not is_transformed:
            left = await self._catch_up(ends, deadline_ns)
        return Left(records, [*left, *await self._close_up(deadline_ns)])

    async def _await_last_transactions(self, ends: Mapping[str, int], deadline_ns: int) -> None:
        """Until no transaction is open in these logs, or the coordinators should have ended all.

        The answers stand in the history: the last one says whether a transaction hangs.
        """
        workload = self._workload
        if not isinstance(workload, WithTransactions) or not workload.transactional_ids or not ends:
            return
        give_up_ns = min(deadline_ns, self._clock.now_ns() + workload.expiry_ms * _MS)
        is_last = False
        while not (is_last or self._is_stopped):
            is_last = self._clock.now_ns() >= give_up_ns
            told = await self._answered(Invocation("end-offsets", list(ends)), deadline_ns)
            if told is None:
                return
            stable, high = told.value["stable"], told.value["high"]
            if all(stable[key] >= high[key] for key in stable):
                return
            await self._clock.sleep_until_ns(self._clock.now_ns() + _ASK_AGAIN_NS)

    async def _catch_up(self, ends: Mapping[str, int], deadline_ns: int) -> list[str]:
        """As a member of its group, until the group has committed the end of every partition.

        Which member is given which partition is for the group to decide, so each asks what all of
        them have committed. Returns what the group has not come to.
        """
        member = self._membership
        if member is None:
            return []
        is_joined = False
        ends = {key: end for key, end in ends.items() if key in member.committed.value["offsets"]}
        behind: Mapping[str, int] = ends
        while not self._is_stopped and self._clock.now_ns() < deadline_ns:
            if not is_joined:
                await self._reopen()
                is_joined = await self._do_all(self._joining(member))
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

    def _joining(self, member: Membership) -> Sequence[Invocation]:
        """What a new process does first. A client that joins late under load joins at once here."""
        opening = self._workload.opening(self._number, self.process)
        return opening if member.subscribe in opening else [*opening, member.subscribe]

    @property
    def _membership(self) -> Membership | None:
        workload = self._workload
        return workload.membership(self._number) if isinstance(workload, WithGroups) else None

    async def _poll_and_commit(self, member: Membership) -> Completion | None:
        """What the group has committed after some polls; None if this member is beyond use."""
        commit = Invocation("commit")
        if isinstance(self._workload, WithTransforms):
            commit = self._workload.transform(self._number, self._ordinal)
            self._ordinal += 1
        for operation in (*(_POLL,) * _POLLS_A_COMMIT, commit):
            if is_over(await self._do(operation)):
                return None
        told = await self._do(member.committed)
        return None if is_over(told) else told

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
                if _advance(reached, completion):
                    progress_ns = self._clock.now_ns()
            elif completion.type == "info":
                progress_ns = 0
        return {key: max(0, end - reached[key]) for key, end in mine.items()}

    async def _close_up(self, deadline_ns: int) -> list[str]:
        """The workload's last questions; returns those without an answer."""
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

        Without any answer nothing is read, and nothing counts as read back.
        """
        told = await self._answered(Invocation("end-offsets", list(ends)), deadline_ns)
        if told is None:
            return {}
        low, high, stable = (told.value.get(part, {}) for part in ("low", "high", "stable"))
        # Behind the last stable offset an open transaction begins: no consumer is shown it.
        bounds = {key: min(stable.get(key, end), end) for key, end in high.items()}
        return {key: (low.get(key, 0), bounds.get(key, end)) for key, end in ends.items()}


def _advance(reached: dict[str, int], completion: Completion) -> bool:
    """Whether a poll has come further with one of the keys."""
    is_further = False
    for key, end in (completion.reached or {}).items():
        if end > reached.get(key, end):
            reached[key] = end
            is_further = True
    for micro in completion.value:
        if micro[0] != "poll" or len(micro) < 2:
            continue
        for key, records in micro[1].items():
            if records and key in reached and records[-1][0] + 1 > reached[key]:
                reached[key] = records[-1][0] + 1
                is_further = True
    return is_further
