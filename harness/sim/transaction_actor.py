"""A client of a run that writes in transactions, transforms, or reads what was committed.

It is the same client that runs on real sockets (harness/client/kafka_client.py over our own
driver), and its operations are rows of a history, which the checkers judge after the run. A process
ends with an operation whose end is unknown, and with a producer that is fenced; the client goes on
with a new process, which takes its transactional id over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.client.base import ClientSettings, Completion, Invocation
from harness.errors import EnvironmentFailure
from harness.schedule.schedule import Operation
from harness.sim.operation_forms import PARTITIONS
from harness.sim.record import Record
from harness.sim.sim_client import SimClient
from harness.sim.stage import Stage

WRITTEN = "x"
TRANSFORMED = "y"
"""The topics of transactions: the first is written, and transformed into the second."""
TRANSFORMERS = "transformers"
"""The group whose members transform."""

FIRST_PROTOCOL = "EndTxn=4"
_NEWEST = "newest"
_INPUTS_MAX = 5


def keys_of(topic: str) -> list[str]:
    return [f"{topic}-{index}" for index in range(PARTITIONS)]


@dataclass(frozen=True, slots=True)
class _Role:
    """What a client begins with; another role takes another client."""

    protocol: int
    transactional_id: str | None
    timeout_ms: int
    strategy: str | None
    """Of a member of the group; None for a client that reads by itself."""


_READER = _Role(2, None, 0, None)


class TransactionActor:
    """One client on a host of its own, which does one thing at a time."""

    def __init__(self, name: str, stage: Stage, record: Record) -> None:
        self.name = name
        self._simulation = stage.simulation
        self._bootstrap = ",".join(f"{node}:9092" for node in stage.cluster.nodes)
        self._record = record
        self._rows = record.history
        self._client: SimClient | None = None
        self._role: _Role | None = None
        self._process = -1
        self._lives = 0
        self._do: dict[str, Callable[[dict[str, Any]], Awaitable[None]]] = {
            "transact": self._transact,
            "transform": self._transform,
            "read": self._read,
            "take_over": self._take_over,
        }

    async def run(self, operations: Sequence[Operation]) -> None:
        loop = self._simulation.loop
        for operation in operations:
            wait_s = operation.at_ms / 1000 - loop.time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            await self._do[operation.do](dict(operation.arguments))
        await self.close()

    # Operations of a schedule

    async def _transact(self, arguments: dict[str, Any]) -> None:
        role = _Role(
            arguments.get("protocol", 2), arguments["id"], arguments.get("timeout_ms", 10_000), None
        )
        if not await self._is_ready(role):
            return
        first, value = arguments.get("first", 0), arguments["value"]
        sends: list[list[Any]] = [
            ["send", f"{WRITTEN}-{(first + at) % PARTITIONS}", value + at]
            for at in range(arguments.get("sends", 1))
        ]
        pause_ms = arguments.get("pause_ms", 0.0)
        if pause_ms:
            # The second half of the sends comes late, so that a transaction stays open meanwhile.
            sends.insert((len(sends) + 1) // 2, ["pause", pause_ms])
        if arguments.get("abort", False):
            sends.append(["abort"])
        await self._invoke(Invocation("txn", sends))

    async def _transform(self, arguments: dict[str, Any]) -> None:
        role = _Role(
            arguments.get("protocol", 2),
            arguments["id"],
            arguments.get("timeout_ms", 10_000),
            arguments.get("strategy", "consumer"),
        )
        if not await self._is_ready(role):
            return
        wanted = {"topic": TRANSFORMED, "first": arguments["value"], "most": _INPUTS_MAX}
        completion = await self._invoke(Invocation("transform", wanted))
        if completion.type == "ok" and isinstance(completion.value, list):
            # It was a poll, as nothing was left to be transformed.
            await self._invoke(Invocation("transform", wanted))

    async def _read(self, arguments: dict[str, Any]) -> None:
        if await self._is_ready(_READER):
            await self._invoke(Invocation("poll", [["poll"]]))

    async def _take_over(self, arguments: dict[str, Any]) -> None:
        """Fences the producers of another client."""
        if self._client is not None or await self._is_ready(_READER):
            value = {"id": arguments["id"], "timeout-ms": arguments.get("timeout_ms", 10_000)}
            await self._invoke(Invocation("fence", value))

    # When all is over

    async def read_back(self, deadline_s: float) -> bool:
        """Reads both topics from the beginning to their ends; whether it came there."""
        keys = [*keys_of(WRITTEN), *keys_of(TRANSFORMED)]
        ends = await self._ends(keys, deadline_s)
        reached: dict[str, int] = {}
        while ends is not None and self._simulation.now_s < deadline_s:
            if all(reached.get(key, 0) >= ends["high"][key] for key in keys):
                return True
            if not await self._is_ready(_READER):
                continue
            completion = await self._invoke(Invocation("poll", [["poll"]]))
            reached |= completion.reached or {}
        return False

    async def _ends(self, keys: list[str], deadline_s: float) -> dict[str, Any] | None:
        """Where the logs end, once no transaction is open in them, or when the time is up."""
        found: dict[str, Any] | None = None
        while self._simulation.now_s < deadline_s:
            if not await self._is_ready(_READER):
                continue
            completion = await self._invoke(Invocation("end-offsets", keys))
            if completion.type == "ok":
                value: dict[str, Any] = completion.value
                found = value
                if value["stable"] == value["high"]:
                    break
            await asyncio.sleep(1.0)
        return found

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # One process after another

    async def _is_ready(self, role: _Role) -> bool:
        """Whether a client of this role is there, made now if need be."""
        if self._client is not None and self._role == role:
            return True
        await self.close()
        self._lives += 1
        self._process, self._role = self._rows.new_process(), role
        client = SimClient(
            self._simulation, self.name, self._settings(role), f"{self.name}.{self._lives}"
        )
        self._client = client
        try:
            await client.open()
        except EnvironmentFailure:
            self._client = None
            return False
        for invocation in _opening(role):
            completion = await self._invoke(invocation)
            if completion.type != "ok":
                await self.close()
                return False
        return True

    def _settings(self, role: _Role) -> ClientSettings:
        return ClientSettings(
            bootstrap=self._bootstrap,
            request_timeout_ms=2_000,
            delivery_timeout_ms=10_000,
            protocol_versions=_NEWEST if role.protocol > 1 else FIRST_PROTOCOL,
            seed=self._simulation.seed,
        )

    async def _invoke(self, invocation: Invocation) -> Completion:
        client = self._client
        assert client is not None
        invocation, beside = client.prepare(invocation)
        for row in beside:
            self._rows.beside(self._process, row)
        now = self._simulation.loop
        self._rows.invoked(now.now_ns, self._process, invocation)
        completion = await client.invoke(invocation)
        self._rows.completed(now.now_ns, self._process, invocation.f, completion)
        self._record.transactions.count(invocation, completion)
        if completion.type == "info" or completion.is_last:
            await self.close()
        return completion


def _opening(role: _Role) -> list[Invocation]:
    if role.transactional_id is None:
        return [Invocation("assign", [*keys_of(WRITTEN), *keys_of(TRANSFORMED)])]
    wanted = {"id": role.transactional_id, "timeout-ms": role.timeout_ms}
    opening = [Invocation("init-transactions", wanted)]
    if role.strategy is not None:
        subscription = {
            "group": TRANSFORMERS,
            "topics": [WRITTEN],
            "strategy": role.strategy,
            "commits": "transaction",
            "instance": None,
        }
        opening.insert(0, Invocation("subscribe", subscription))
    return opening
