"""Operations of a member of a consumer group: subscribe, poll, commit, leave.

A member commits what polls that were `ok` returned to it, and nothing else: the position of a
partition is forgotten when the partition is taken away, and begins anew, at the committed offset,
when it is given. What the group does to the member meanwhile (assigned, revoked, lost), and every
commit in the background, becomes a row of its own beside the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.client.base import Beside, Completion, Invocation, Prepared
from harness.client.driver import DriverError, Polled, place_of
from harness.client.group_driver import Committed, GroupDriver, Subscription
from harness.client.outcomes import of_commit

_BACKGROUND_MAX = 1000
_NOTHING = "nothing was polled since the partitions were assigned"


@dataclass(slots=True)
class _Background:
    """A commit that was left to the library."""

    value: dict[str, Any]
    """As it was begun: by its end the member may be in another generation."""
    left: dict[str, int]
    """Offsets of which it is not known yet whether they were committed."""
    done: dict[str, int] = field(default_factory=dict)

    @property
    def offsets(self) -> dict[str, int]:
        offsets: dict[str, int] = self.value["offsets"]
        return offsets


class GroupMember:
    def __init__(self, driver: GroupDriver, now_ns: Callable[[], int]) -> None:
        self._driver = driver
        self._now_ns = now_ns
        self.subscription: Subscription | None = None
        self._next: dict[str, int] = {}
        """By key: the offset after the last record that a poll returned."""
        self._held: dict[str, None] = {}
        self._background: dict[int, _Background] = {}
        """Commits in the background whose end is not known, oldest first."""
        self._abandoned: set[int] = set()
        """Numbers of background commits whose end will never be reported."""
        self._submitted: dict[str, int] = {}
        """By key: the last offset that was left to the library. It never commits the same again, so
        its end would never come."""
        self._transforming: tuple[dict[str, Any], int] = {}, 0
        """What the transaction under way commits, and its number among background operations."""
        self._taken: dict[str, list[int]] = {}
        """By key: offsets of polled records that wait to be transformed, of a member that commits
        in transactions. A transaction that is aborted leaves them here: none is polled again."""

    @property
    def is_subscribed(self) -> bool:
        return self.subscription is not None

    # Before an operation is recorded

    def prepare(self, invocation: Invocation) -> Prepared:
        if invocation.f in ("commit", "commit-later"):
            value = {**self._who(), "offsets": dict(self._next)}
            if invocation.f == "commit":
                return Prepared(Invocation("commit", value))
            return self._prepare_background(invocation, value)
        if invocation.f == "transform":
            return self._prepare_transform(invocation.value)
        if invocation.f == "committed":
            return Prepared(Invocation("committed", {**invocation.value, **self._who()}))
        return Prepared(invocation)

    def _prepare_background(self, invocation: Invocation, value: dict[str, Any]) -> Prepared:
        number = self._free_number()
        submitted = self._submitted.items()
        new = dict(value["offsets"].items() - submitted)
        if number is None or not new:
            return Prepared(invocation)
        value["offsets"] = {key: new[key] for key in sorted(new)}
        self._submitted |= new
        self._background[number] = _Background(value, dict(value["offsets"]))
        # In virtual time the last poll may have ended at this very instant, and invocations are
        # sorted before completions: without the nanosecond the commit would come before the poll.
        begun = Beside(self._now_ns() + 1, "invoke", "commit", value, background=number)
        return Prepared(Invocation(invocation.f, number), (begun,))

    def _free_number(self) -> int | None:
        taken = self._abandoned.union(self._background)
        return next((at for at in range(_BACKGROUND_MAX) if at not in taken), None)

    def _prepare_transform(self, wanted: Mapping[str, Any]) -> Prepared:
        """From the topic for outputs and the value of the first: the oldest inputs, and an output
        for each. A poll, if there is nothing to be transformed. The offsets that go with it are a
        commit in the background, which ends as the transaction does.

        What the group has taken away since the last operation is transformed by its next owner."""
        news = self._beside()
        found = [(key, offset) for key, offsets in self._taken.items() for offset in offsets]
        if not found:
            return Prepared(Invocation("poll", [["poll"]]), news)
        found = found[: wanted["most"]]
        out = [
            [f"{wanted['topic']}-{place_of(key).partition}", [None, wanted["first"] + at]]
            for at, (key, _) in enumerate(found)
        ]
        value = {"in": [[key, at] for key, at in found], "out": out}
        number = self._free_number() or 0
        self._transforming = {**self._who(), "offsets": self.offsets_after(value)}, number
        begun = Beside(self._now_ns() + 1, "invoke", "commit", self._transforming[0], None, number)
        return Prepared(Invocation("transform", value), (*news, begun))

    def offsets_after(self, transform: Mapping[str, Any]) -> dict[str, int]:
        """What a transaction commits that transforms these inputs."""
        return {key: offset + 1 for key, offset in transform["in"]}

    def transformed(self, completion: Completion) -> Completion:
        if completion.type == "ok":
            for key, offset in completion.value["in"]:
                if offset in self._taken.get(key, ()):
                    self._taken[key].remove(offset)
        (value, number), error = self._transforming, completion.error
        ended = Beside(self._now_ns(), completion.type, "commit", value, error, number)
        return replace(completion, beside=[*completion.beside, *self._beside(), ended])

    def _who(self) -> dict[str, Any]:
        generation, member = self._driver.membership()
        group = self.subscription.group if self.subscription else None
        return {"group": group, "generation": generation, "member": member}

    # Operations

    async def subscribe(self, value: Mapping[str, Any]) -> Completion:
        wanted = Subscription.of(value)
        try:
            self.subscription = await self._driver.subscribe(wanted)
        except DriverError as error:
            self.subscription = None
            return Completion("fail", value, str(error), beside=self._beside())
        return Completion("ok", self.subscription.value(), beside=self._beside())

    async def leave(self, value: None) -> Completion:
        if self.subscription is None:
            return Completion("fail", value, "the client has not subscribed", beside=self._beside())
        try:
            await self._driver.leave()
        except DriverError as error:
            return Completion("info", value, str(error), beside=self._beside())
        beside = self._beside()
        self.subscription = None
        self._next.clear()
        self._submitted.clear()
        self._held.clear()
        self._taken.clear()
        # A commit of the next membership may have the same offsets, and must not end one of these:
        # it would look like a commit that was accepted in a generation of long ago.
        self._abandoned.update(self._background)
        self._background.clear()
        return Completion("ok", value, beside=beside)

    async def poll(self) -> tuple[Polled, list[Beside]]:
        """An error beside records is dropped: the records were returned, and the next poll goes on
        behind them. Records of partitions that are not held are returned all the same, for the
        checkers to see, and never committed."""
        polled = await self._driver.poll_group()
        beside = self._beside()
        if any(polled.records.values()):
            polled.error = None
        for key, records in polled.records.items():
            if records and key in self._held:
                self._next[key] = records[-1].offset + 1
                if self.subscription is not None and self.subscription.commits == "transaction":
                    self._taken.setdefault(key, []).extend(each.offset for each in records)
        return polled, beside

    async def commit(self, value: Mapping[str, Any]) -> Completion:
        offsets = value["offsets"]
        if not offsets:
            return Completion("fail", value, _NOTHING, beside=self._beside())
        try:
            await self._driver.commit(offsets)
        except DriverError as error:
            outcome = of_commit(error.name, harmless=error.harmless)
            return Completion(outcome, value, str(error), beside=self._beside())
        return Completion("ok", value, beside=self._beside())

    async def commit_later(self, number: int | None) -> Completion:
        if number is None:
            return Completion("fail", None, _NOTHING, beside=self._beside())
        offsets = self._background[number].offsets
        try:
            self._driver.commit_later(offsets)
        except DriverError as error:
            ended = self._ended(number, offsets, self._now_ns(), error)
            return Completion("ok", None, beside=(*self._beside(), ended))
        return Completion("ok", None, beside=self._beside())

    async def committed(self, value: Mapping[str, Any]) -> Completion:
        try:
            found = await self._driver.committed(list(value["offsets"]))
        except DriverError as error:
            return Completion("fail", value, str(error), beside=self._beside())
        return Completion("ok", {**value, "offsets": found}, beside=self._beside())

    # What came up beside them

    def _beside(self) -> list[Beside]:
        rows = [*self._ownership(), *self._ends(self._driver.committed_since())]
        return sorted(rows, key=lambda row: row.time_ns)

    def _ownership(self) -> Iterable[Beside]:
        for time_ns, f, keys, generation in self._driver.notices():
            for key in keys:
                self._next.pop(key, None)
                self._submitted.pop(key, None)
                self._taken.pop(key, None)
                if f == "assigned":
                    self._held[key] = None
                else:
                    self._held.pop(key, None)
            group = self.subscription.group if self.subscription else None
            value = {"group": group, "generation": generation, "keys": list(keys)}
            yield Beside(time_ns, "ok", f, value)

    def _ends(self, found: Iterable[Committed]) -> Iterable[Beside]:
        is_auto = self.subscription is not None and self.subscription.commits == "auto"
        for time_ns, offsets, error in found:
            if is_auto:
                if error is None:
                    yield from self._stored_until(offsets, time_ns)
                continue
            begun = self._background.items()
            number = next((at for at, each in begun if each.offsets == offsets), None)
            if number is not None:
                yield self._ended(number, offsets, time_ns, error)

    def _stored_until(self, offsets: Mapping[str, int], time_ns: int) -> Iterable[Beside]:
        """The library has committed these: of each key the last offset that was stored.

        A stored offset below the committed one was never committed by itself.
        """
        for number, each in list(self._background.items()):
            for key, offset in offsets.items():
                if each.left.get(key) == offset:
                    each.done[key] = offset
                if each.left.get(key, offset + 1) <= offset:
                    del each.left[key]
            if not each.left:
                yield self._ended(number, each.done, time_ns, None)

    def _ended(
        self, number: int, offsets: Mapping[str, int], time_ns: int, error: DriverError | None
    ) -> Beside:
        value = {**self._background.pop(number).value, "offsets": dict(offsets)}
        if error is None:
            # Without an offset that took effect as it was asked for, nothing happened.
            return Beside(time_ns, "ok" if offsets else "fail", "commit", value, None, number)
        outcome = of_commit(error.name, harmless=error.harmless)
        return Beside(time_ns, outcome, "commit", value, str(error), number)
