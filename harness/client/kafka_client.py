"""Operations on top of a driver: what each means, what is kept of it, and what its end proves.

A poll goes on where the last one that was `ok` ended. After any operation that was not, each key it
has polled is read again from the first record it was given, so that a record counts as read only
once an operation says so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.client.base import Beside, Client, Completion, Invocation, Outcome, Prepared
from harness.client.driver import (
    ANY_PARTITION,
    Driver,
    DriverError,
    Read,
    Stored,
    is_topic,
    place_of,
)
from harness.client.group_driver import GroupDriver
from harness.client.group_member import GroupMember
from harness.client.outcomes import of_admin, of_produce
from harness.client.payload import decode
from harness.client.records import (
    MicroOp,
    acknowledge,
    known,
    timestamps_of,
    to_store,
    value_of_record,
)
from harness.client.traffic import Traffic
from harness.client.transactions import Transactions
from harness.client.transactions_driver import TransactionDriver
from harness.history.operations import MICRO_OPERATIONS

_WRITES = frozenset(
    name for name, each in MICRO_OPERATIONS.items() if each.writes and each.by_clients
)
_CHANGES_NOTHING: Outcome = "fail"
"""What an operation that only reads comes to when it does not succeed."""
_SPREAD_MS = 8


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class KafkaClient:
    def __init__(
        self,
        driver: Driver,
        now_ms: Callable[[], int] = _wall_clock_ms,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`now_ms`: the clock that records are stamped by, in ms since 1970. `now_ns`: the clock of
        the history."""
        self.driver = driver
        self._member: GroupMember | None = None
        self._now_ms = now_ms
        self._positions: dict[str, int | None] = {}
        self._reached: dict[str, int] = {}
        self._node: str | None = None
        self._operations: dict[str, Callable[[Any], Awaitable[Completion]]] = {
            "send": self._sends,
            "poll": self._micro_ops,
            "txn": self._txn,
            "put": self._micro_ops,
            "get": self._micro_ops,
            "partitioner": self._partitioner,
            "assign": self._assign,
            "end-offsets": self._end_offsets,
            "create": self._create,
            "create-partitions": self._create_partitions,
            "delete": self._delete,
            "alter": self._alter,
            "describe": self._describe,
            "crash": self._crash,
        }
        self._transactions: Transactions | None = None
        if isinstance(driver, TransactionDriver):
            self._transactions = transactions = Transactions(driver, self, now_ns)
            self._operations |= {
                "init-transactions": transactions.init,
                "fence": transactions.fence,
                "transform": self._transform,
            }
        if isinstance(driver, GroupDriver):
            self._member = member = GroupMember(driver, now_ns)
            self._operations |= {
                "subscribe": member.subscribe,
                "leave": member.leave,
                "commit": member.commit,
                "commit-later": member.commit_later,
                "committed": member.committed,
            }

    def prepare(self, invocation: Invocation) -> Prepared:
        return Prepared(invocation) if self._member is None else self._member.prepare(invocation)

    async def open(self) -> None:
        await self.driver.open()

    async def close(self) -> None:
        await self.driver.close()

    def traffic(self) -> Traffic:
        return self.driver.traffic()

    async def invoke(self, invocation: Invocation) -> Completion:
        operation = self._operations.get(invocation.f)
        if operation is None:
            raise ValueError(f"no client here can do {invocation.f!r}")
        self._reached = {}
        completion = await operation(invocation.value)
        return replace(completion, reached=self._reached) if self._reached else completion

    # Lists of micro-operations

    async def _sends(self, value: Sequence[MicroOp]) -> Completion:
        """All records at once. Each that was acknowledged has its offset; the others stay as they
        were asked.

        The whole is `ok` only if every record is, and `fail` only if none can have been written.
        Between the two it is `info`, and the records in it that have an offset are acknowledged.
        """
        done = [list(each) for each in value]
        stamps = self.stamps(len(done))
        ends = await self.driver.produce(
            [to_store(each[1], each[2], stamp) for each, stamp in zip(done, stamps, strict=True)]
        )
        outcomes: set[Outcome] = set()
        nodes: set[str | None] = set()
        first_error: DriverError | None = None
        for micro_op, end in zip(done, ends, strict=True):
            outcome = self._end_send(micro_op, end)
            outcomes.add(outcome)
            if isinstance(end, Stored):
                nodes.add(end.node)
            elif outcome != "ok" and first_error is None:
                first_error = end
        node = nodes.pop() if len(nodes) == 1 else None
        type_ = outcomes.pop() if len(outcomes) == 1 else "info"
        error = None if first_error is None else str(first_error)
        return Completion(type_, done, error, node, stamps)

    def stamps(self, count: int) -> list[Any]:
        """Timestamps of the records of one send: now, and a little before it.

        They differ, and are out of order, as the records of several threads are: a broker that
        gives all records of a batch one timestamp, or exchanges them, is found out.
        """
        now_ms = self._now_ms()
        return [now_ms - at % _SPREAD_MS for at in range(count)]

    def _end_send(self, micro_op: MicroOp, end: Stored | DriverError) -> Outcome:
        """Writes the offset into it, if it is acknowledged, and the partition, if it is known."""
        place = place_of(micro_op[1])
        if place.partition == ANY_PARTITION and end.partition is not None:
            micro_op[1] = f"{place.topic}-{end.partition}"
        if isinstance(end, Stored):
            acknowledge(micro_op, end.offset)
            return "ok"
        outcome = self._outcome_of(micro_op, end)
        if outcome == "ok":
            acknowledge(micro_op, None)
        return outcome

    async def _txn(self, value: Sequence[MicroOp]) -> Completion:
        """One transaction, if the client has a transactional producer; else one after the other."""
        if self._transactions is not None and self._transactions.is_begun:
            return await self._transactions.txn(value)
        return await self._micro_ops(value)

    async def _transform(self, value: Mapping[str, Any]) -> Completion:
        assert self._transactions is not None, "it is no operation of other clients"
        assert self._member is not None, "inputs come from a group"
        completion = await self._transactions.transform(value, self._member.offsets_after(value))
        return self._member.transformed(completion)

    async def _micro_ops(self, value: Sequence[MicroOp]) -> Completion:
        """In order, up to the first that does not succeed; later ones stay as they were asked."""
        done = [list(each) for each in value]
        if self._member is not None and self._member.is_subscribed and _only_polls(done):
            return await self._polls_as_member(self._member, done)
        stamps: list[Any] = [None] * len(done)
        first_polled: dict[str, int] = {}
        self._node = None
        has_written = False
        for at, micro_op in enumerate(done):
            try:
                await self._micro_op(micro_op, at, stamps, first_polled)
            except DriverError as error:
                outcome = self._outcome_of(micro_op, error)
                if outcome != "ok":
                    # What went before cannot be taken back, so the whole did not fail.
                    is_over = has_written or not await self.went_back(first_polled)
                    type_ = "info" if is_over else outcome
                    return Completion(type_, done, str(error), self._node, known(stamps))
                acknowledge(micro_op, None)
            has_written = has_written or micro_op[0] in _WRITES
        return Completion("ok", done, None, self._node, known(stamps))

    async def _polls_as_member(self, member: GroupMember, done: list[MicroOp]) -> Completion:
        """The group says what is polled; a member never goes back by itself."""
        stamps: list[Any] = [None] * len(done)
        beside: list[Beside] = []
        for at, micro_op in enumerate(done):
            polled, news = await member.poll()
            beside += news
            if polled.error is not None:
                return Completion(_CHANGES_NOTHING, done, str(polled.error), beside=beside)
            stamps[at] = timestamps_of(polled)
            micro_op[1:] = [
                {
                    key: [[record.offset, value_of_record(record, key)] for record in records]
                    for key, records in polled.records.items()
                }
            ]
        return Completion("ok", done, timestamps=known(stamps), beside=beside)

    async def _micro_op(
        self, micro_op: MicroOp, at: int, stamps: list[Any], first_polled: dict[str, int]
    ) -> None:
        """Writes the result into it, and the timestamps of its records into `stamps[at]`."""
        name = micro_op[0]
        if name == "poll":
            await self.poll_into(micro_op, at, stamps, first_polled)
            return
        if name == "pause":
            await asyncio.sleep(micro_op[1] / 1000)
            return
        key = micro_op[1]
        if name in _WRITES:
            # Known whatever comes of it: a record that was not acknowledged may be read later.
            (stamps[at],) = self.stamps(1)
            acknowledge(micro_op, await self._produce(key, micro_op[2], stamps[at]))
        elif name == "r":
            whole = await self.driver.read_all(place_of(key))
            micro_op[2] = [value_of_record(record, key) for record in whole.records]
        elif name == "get":
            micro_op[2] = await self._get(key)
        else:
            raise ValueError(f"no client here can do {name!r}")

    async def _produce(self, key: str, value: int | None, stamp: int) -> int | None:
        (stored,) = await self.driver.produce([to_store(key, value, stamp)])
        if isinstance(stored, DriverError):
            raise stored
        self._node = stored.node
        return stored.offset

    async def poll_into(
        self, micro_op: MicroOp, at: int, stamps: list[Any], first_polled: dict[str, int]
    ) -> None:
        polled = await self.driver.poll()
        self._reached.update(polled.reached)
        found: dict[str, list[list[Any]]] = {}
        micro_op[1:] = [found]
        stamps[at] = timestamps_of(polled)
        for key, records in polled.records.items():
            found[key] = [[record.offset, value_of_record(record, key)] for record in records]
            if records:
                first_polled.setdefault(key, records[0].offset)
                self._positions[key] = records[-1].offset + 1
        if polled.error is not None:
            raise polled.error

    async def _get(self, key: str) -> list[Any]:
        """The last value of this name in its partition; None if it has none, or was deleted.

        With it goes how far was read: the leader that was asked may have been deposed, so what is
        beyond may have been acknowledged long ago.
        """
        place = place_of(key)
        name = None if place.name is None else place.name.encode()
        last: Read | None = None
        whole = await self.driver.read_all(place)
        for record in whole.records:
            if record.key == name:
                last = record
        return [whole.end, None if last is None else decode(last.payload, key)]

    async def went_back(self, first_polled: Mapping[str, int]) -> bool:
        """A client that cannot must be thrown away: it would skip what it was given last."""
        if first_polled:
            self._positions.update(first_polled)
            try:
                await self.driver.assign(self._positions)
            except DriverError:
                return False
        return True

    def _outcome_of(self, micro_op: MicroOp, error: DriverError) -> Outcome:
        if micro_op[0] not in _WRITES:
            return _CHANGES_NOTHING
        return of_produce(error.name, self.driver.mode, harmless=error.harmless)

    # Consumers

    async def _partitioner(self, value: None) -> Completion:
        return Completion("ok", self.driver.partitioner)

    async def _assign(self, value: Sequence[str] | Mapping[str, int]) -> Completion:
        """A key that was assigned before goes on where it was, a new one at its beginning.

        A topic stands for all its partitions; then the completion lists them.
        """
        positions: dict[str, int | None]
        try:
            if isinstance(value, Mapping):
                positions = dict(value)
            else:
                keys = [each for key in value for each in await self._keys(key)]
                positions = {key: self._positions.get(key) for key in keys}
            await self.driver.assign(positions)
        except DriverError as error:
            return Completion(_CHANGES_NOTHING, value, str(error))
        self._positions = positions
        return Completion("ok", value if isinstance(value, Mapping) else keys)

    async def _keys(self, key: str) -> Sequence[str]:
        if not is_topic(key):
            return [key]
        return [f"{key}-{index}" for index in range(await self.driver.partitions_of(key))]

    async def _end_offsets(self, value: Sequence[str] | None) -> Completion:
        """Of the keys named, or of those assigned."""
        try:
            keys = list(self._positions) if value is None else value
            return Completion("ok", await self.driver.end_offsets(keys))
        except DriverError as error:
            return Completion(_CHANGES_NOTHING, value, str(error))

    # Administration

    async def _create(self, value: Mapping[str, Any]) -> Completion:
        return await self._changed(
            value,
            self.driver.create_topic(
                value["topic"], value["partitions"], value["replication"], value["configs"]
            ),
        )

    async def _create_partitions(self, value: Mapping[str, Any]) -> Completion:
        change = self.driver.create_partitions(value["topic"], value["partitions"])
        return await self._changed(value, change)

    async def _delete(self, value: Mapping[str, Any]) -> Completion:
        return await self._changed(value, self.driver.delete_topic(value["topic"]))

    async def _alter(self, value: Mapping[str, Any]) -> Completion:
        return await self._changed(value, self.driver.alter_topic(value["topic"], value["configs"]))

    async def _changed(self, value: Mapping[str, Any], change: Awaitable[None]) -> Completion:
        try:
            await change
        except DriverError as error:
            return Completion(of_admin(error.name, harmless=error.harmless), value, str(error))
        return Completion("ok", value)

    async def _describe(self, value: Mapping[str, Any]) -> Completion:
        """That there is no such topic is an answer."""
        topic = value["topic"]
        try:
            found = await self.driver.describe_topic(topic)
        except DriverError as error:
            return Completion(_CHANGES_NOTHING, value, str(error))
        return Completion("ok", {**value, **(found or {"partitions": None})})

    async def _crash(self, value: None) -> Completion:
        """What was under way is lost with the client, which is thrown away after this."""
        await self.driver.close()
        return Completion("info", value, "crash: the client was thrown away")


def _only_polls(micro_ops: Sequence[MicroOp]) -> bool:
    return all(each[0] == "poll" for each in micro_ops)


def _check(client: KafkaClient) -> Client:
    """Has mypy hold it to what a run expects."""
    return client
