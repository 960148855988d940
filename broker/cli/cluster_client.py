"""A client for commands that need several nodes: leaders of partitions, coordinators of groups.

Leaders and coordinators move. A node that is not the right one any more, or not yet, says so, and
the client looks for the right one again until the time of the command is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

import click

from broker.cli.bootstrap import address_of, check_answer
from broker.cli.errors import EnvironmentFailure, UnreachableFailure
from broker.cli.wire_client import WireClient
from broker.network.interface import Address, Network
from broker.network.sockets import SocketNetwork
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

GROUP_KEY = 0
TRANSACTION_KEY = 1
_NAMES = {GROUP_KEY: "group", TRANSACTION_KEY: "transactional id"}
_FIRST_REST_S = 0.05
_REST_MAX_S = 1.0

_NOT_THE_COORDINATOR = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)

timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.1, max=3600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to look for leaders and coordinators that are not available.",
)


class CoordinatorNode(NamedTuple):
    node_id: int
    address: Address


class Answered(NamedTuple):
    answer: Any
    is_repeated: bool
    """An earlier attempt got no answer, or one that does not say whether it was carried out."""


class ClusterClient:
    """Made by `with_cluster`. All that it repeats ends when the time of the command is up."""

    def __init__(self, network: Network, bootstrap: Address, timeout_s: float) -> None:
        self._network = network
        self._bootstrap = bootstrap
        self._timeout_s = timeout_s
        self._until = asyncio.get_running_loop().time() + timeout_s
        self._open: dict[Address, WireClient] = {}
        self._brokers: dict[int, Address] = {}
        self._coordinators: dict[tuple[int, str], CoordinatorNode] = {}

    # Any node

    async def ask_any(self, api_key: ApiKey, body: Any) -> Any:
        """The first answer, of the bootstrap server or of any other broker that is known."""
        problem: UnreachableFailure | None = None
        for address in dict.fromkeys([self._bootstrap, *self._brokers.values()]):
            try:
                return await self.ask(address, api_key, body)
            except UnreachableFailure as failure:
                problem = problem or failure
        assert problem is not None
        raise problem

    async def metadata(self, topics: Sequence[str] = ()) -> m.MetadataResponse:
        """The brokers, and these topics: none if none is named."""
        asked = [m.MetadataRequestTopic(name=name) for name in topics]
        answer: m.MetadataResponse = await self.ask_any(
            ApiKey.METADATA, m.MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        )
        self._brokers = {each.node_id: Address(each.host, each.port) for each in answer.brokers}
        return answer

    def address_of(self, broker_id: int) -> Address | None:
        """By the last `metadata`."""
        return self._brokers.get(broker_id)

    # One node

    async def ask(
        self, address: Address, api_key: ApiKey, body: Any, *, newest: int | None = None
    ) -> Any:
        """Raises UnreachableFailure. The next attempt then opens another connection."""
        client = await self._client(address)
        try:
            return await client.ask(api_key, body, newest=newest)
        except UnreachableFailure:
            client.close()
            self._open.pop(address, None)
            raise

    def serves(self, api_key: ApiKey) -> bool:
        """By what the brokers said that this client is connected to."""
        return any(each.version_of(api_key) is not None for each in self._open.values())

    async def _client(self, address: Address) -> WireClient:
        found = self._open.get(address)
        if found is None:
            left_s = max(self._until - asyncio.get_running_loop().time(), _REST_MAX_S)
            found = await WireClient.connect(self._network, address, left_s)
            self._open[address] = found
        return found

    # The coordinator of a group, or of a transactional id

    async def coordinator(self, key: str, key_type: int = GROUP_KEY) -> CoordinatorNode:
        what = f"{_NAMES[key_type]} {key}"
        rests = self.rests(f"{what}: no coordinator")
        while True:
            found = self._coordinators.get((key_type, key))
            if found is not None:
                return found
            # Before version 4 there is one key, and the answer stands at the top.
            body = m.FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key])
            answer: m.FindCoordinatorResponse = await self.ask_any(ApiKey.FIND_COORDINATOR, body)
            told = answer.coordinators[0] if answer.coordinators else answer
            if told.error_code in _NOT_THE_COORDINATOR:
                # The broker's message may say why: too few nodes for the topic of the offsets.
                why = f": {told.error_message}" if told.error_message else ""
                await rests.rest(error_name(told.error_code) + why)
                continue
            check_answer(what, told.error_code, told.error_message)
            address = Address(told.host, told.port)
            self._coordinators[key_type, key] = CoordinatorNode(told.node_id, address)

    async def ask_coordinator(
        self,
        key: str,
        api_key: ApiKey,
        body: Any,
        codes: Callable[[Any], Iterable[int]],
        *,
        newest: int | None = None,
        key_type: int = GROUP_KEY,
    ) -> Answered:
        """`codes` are the error codes in an answer; another node is asked while one of them says
        so. The request is sent again, so it has to be one that may be carried out twice."""
        rests = self.rests(f"{_NAMES[key_type]} {key}: no answer from its coordinator")
        is_repeated = False
        while True:
            try:
                found = await self.coordinator(key, key_type)
                answer = await self.ask(found.address, api_key, body, newest=newest)
            except UnreachableFailure as failure:
                problem, is_repeated = str(failure), True
            else:
                told = next((each for each in codes(answer) if each in _NOT_THE_COORDINATOR), None)
                if told is None:
                    return Answered(answer, is_repeated)
                # A commit that takes too long is answered so, too, and may be carried out yet.
                is_repeated |= told == ErrorCode.COORDINATOR_NOT_AVAILABLE
                problem = error_name(told)
            self._coordinators.pop((key_type, key), None)
            await rests.rest(problem)

    # Time

    def rests(self, what: str, at_most_s: float | None = None) -> Rests:
        """The pauses of one loop, until the time of the command, or of the loop, is up."""
        until = self._until
        if at_most_s is not None:
            until = min(until, asyncio.get_running_loop().time() + at_most_s)
        return Rests(what, until, self._timeout_s)

    def close(self) -> None:
        for client in self._open.values():
            client.close()


class Rests:
    """Pauses between attempts, each longer than the one before."""

    def __init__(self, what: str, until: float, timeout_s: float) -> None:
        self._what = what
        self._until = until
        self._timeout_s = timeout_s
        self._next_s = _FIRST_REST_S

    @property
    def is_over(self) -> bool:
        return asyncio.get_running_loop().time() >= self._until

    async def rest(self, problem: str) -> None:
        """Raises EnvironmentFailure with the last problem when the time is up."""
        if self.is_over:
            raise EnvironmentFailure(f"{self._what} within {self._timeout_s:g} s: {problem}")
        await asyncio.sleep(self._next_s)
        self._next_s = min(2 * self._next_s, _REST_MAX_S)


def with_cluster(
    bootstrap: str, timeout_s: float, work: Callable[[ClusterClient], Awaitable[None]]
) -> None:
    """Runs `work`. A bootstrap server that cannot be reached ends the command at once."""
    address = address_of(bootstrap)

    async def run() -> None:
        cluster = ClusterClient(SocketNetwork(), address, timeout_s)
        try:
            await cluster.metadata()
            await work(cluster)
        finally:
            cluster.close()

    asyncio.run(run())
