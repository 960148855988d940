"""The requests of a transaction, each sent until it is answered for good.

Every answer is noted with its version, so that a recorder can say what the coordinator said. A
request that was not answered is sent again, as Kafka's clients do; that the first copy may arrive
later is the defect of the first protocol (KAFKA-17754).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.coordinator_way import GROUP, TRANSACTION, CoordinatorWay
from harness.native.errors import BrokerError, ClientError, known_code
from harness.native.produce_queue import Identity
from harness.native.settings import Backoff
from harness.native.transaction_errors import (
    TransactionErrorKind,
    TransactionFailedError,
    is_refusal,
    kind_of,
)

if TYPE_CHECKING:
    from harness.native.client import Client

Slot = tuple[str, int]

TRANSACTION_VERSION = "transaction.version"
_FIRST_FEATURE_OF_SECOND = 2

_LAST_INIT = 5
"""Version 6 is for transactions in two phases (KIP-939)."""
_FIRST_INIT_WITH_EPOCH = 3
_LAST_ADD_OF_CLIENTS = 3
"""Later versions are for brokers."""
_LAST_END_OF_FIRST = 4
_LAST_OFFSETS_OF_FIRST = 4
_FIRST_OFFSETS_WITH_MEMBER = 3
_CONCURRENT_S = 0.02
"""Kafka's clients ask again so soon while the coordinator still ends the last transaction."""
_NO_ANSWER = "(no answer)"
_STEPS_KEPT = 1000
"""A caller that never asks for them must not cost memory."""


class TransactionStep(NamedTuple):
    """One try of one request of a transaction."""

    api: ApiKey
    time_s: float
    """When it ended, by the loop."""
    answer: str
    """Kafka's name of the code, NONE for success, or that no answer came."""


class GroupClaim(NamedTuple):
    """As whom offsets are committed for a group (KIP-447)."""

    group: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


class TransactionRequests:
    """Requests of one transactional id to its coordinator, one at a time."""

    def __init__(self, client: Client, transactional_id: str, timeout_ms: int) -> None:
        self.transactional_id = transactional_id
        self.steps: deque[TransactionStep] = deque(maxlen=_STEPS_KEPT)
        self._client = client
        self._timeout_ms = timeout_ms
        self._way = CoordinatorWay(client, transactional_id, TRANSACTION)
        self._groups: dict[str, CoordinatorWay] = {}
        settings = client.settings
        self._backoff = Backoff(
            settings.retry_backoff_s, settings.retry_backoff_max_s, client.random
        )

    @property
    def _lane(self) -> str:
        return f"transaction {self.transactional_id}"

    async def init(self, current: Identity | None = None) -> tuple[Identity, bool]:
        """A new epoch, and whether the second protocol is spoken. Fences earlier producers; with
        `current` only if that is still the last one (KIP-360)."""
        known = current or Identity(-1, -1)
        body = m.InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=known.producer_id,
            producer_epoch=known.epoch,
        )
        at_least = 0 if current is None else _FIRST_INIT_WITH_EPOCH
        answer = await self._until_answered(
            self._way, ApiKey.INIT_PRODUCER_ID, body, at_least=at_least, at_most=_LAST_INIT
        )
        identity = Identity(answer.producer_id, answer.producer_epoch)
        return identity, await self._speaks_protocol_2()

    async def _speaks_protocol_2(self) -> bool:
        async def attempt() -> bool:
            connection = await self._way.connection(self._lane)
            level = connection.finalized_features.get(TRANSACTION_VERSION, 0)
            if level < _FIRST_FEATURE_OF_SECOND or self._client.settings.versions.pins_first_txn:
                return False
            return connection.version_of(ApiKey.END_TXN) > _LAST_END_OF_FIRST

        return await self._client.retried(attempt)

    async def add_partitions(self, identity: Identity, slots: Iterable[Slot]) -> None:
        """First protocol only."""
        topics: dict[str, list[int]] = {}
        for topic, partition in sorted(slots):
            topics.setdefault(topic, []).append(partition)
        body = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=[
                m.AddPartitionsToTxnTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        await self._until_answered(
            self._way,
            ApiKey.ADD_PARTITIONS_TO_TXN,
            body,
            at_most=_LAST_ADD_OF_CLIENTS,
            code_of=_code_of_added,
        )

    async def add_offsets(self, identity: Identity, group: str) -> None:
        """First protocol only."""
        body = m.AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group,
        )
        await self._until_answered(self._way, ApiKey.ADD_OFFSETS_TO_TXN, body)

    async def commit_offsets(
        self,
        identity: Identity,
        claim: GroupClaim,
        offsets: Mapping[Slot, int],
        *,
        protocol_2: bool,
    ) -> None:
        """Asked of the group's coordinator. They count once the transaction is committed."""
        topics: dict[str, list[m.TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in sorted(offsets.items()):
            topics.setdefault(topic, []).append(
                m.TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=""
                )
            )
        body = m.TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=claim.group,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            generation_id=claim.generation,
            member_id=claim.member_id,
            group_instance_id=claim.instance_id,
            topics=[
                m.TxnOffsetCommitRequestTopic(name=name, partitions=parts)
                for name, parts in topics.items()
            ],
        )
        way = self._groups.get(claim.group)
        if way is None:
            way = self._groups[claim.group] = CoordinatorWay(self._client, claim.group, GROUP)
        first = _LAST_OFFSETS_OF_FIRST + 1 if protocol_2 else _FIRST_OFFSETS_WITH_MEMBER
        await self._until_answered(
            way,
            ApiKey.TXN_OFFSET_COMMIT,
            body,
            at_least=first,
            at_most=None if protocol_2 else _LAST_OFFSETS_OF_FIRST,
            code_of=_code_of_offsets,
        )

    async def end(self, identity: Identity, *, commit: bool, protocol_2: bool) -> Identity:
        """The identity of the next transaction: under the second protocol another epoch."""
        body = m.EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=commit,
        )
        answer = await self._until_answered(
            self._way,
            ApiKey.END_TXN,
            body,
            at_least=_LAST_END_OF_FIRST + 1 if protocol_2 else 0,
            at_most=None if protocol_2 else _LAST_END_OF_FIRST,
        )
        if protocol_2 and answer.producer_id >= 0:
            return Identity(answer.producer_id, answer.producer_epoch)
        return identity

    async def _until_answered(
        self,
        way: CoordinatorWay,
        key: ApiKey,
        body: Any,
        *,
        at_least: int = 0,
        at_most: int | None = None,
        code_of: Callable[[Any], int] = lambda answer: int(answer.error_code),
    ) -> Any:
        """Raises TransactionFailedError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._client.settings.call_timeout_s
        failures, is_definite = 0, True
        while True:
            said: ErrorCode | ClientError
            try:
                async with asyncio.timeout_at(deadline):
                    answer = await way.ask(
                        key, body, lane=self._lane, at_least=at_least, at_most=at_most
                    )
                said = known_code(code_of(answer))
            except TimeoutError:
                raise _timed_out(key, is_definite=False) from None
            except ClientError as error:
                said = error.code if isinstance(error, BrokerError) else error
            self._note(key, said)
            if said == ErrorCode.NONE:
                return answer
            is_definite = is_definite and _is_definite(said)
            if isinstance(said, ErrorCode):
                way.heard(said)
            _raise_if_over(key, said, is_definite=is_definite)
            failures += 1
            pause_s = self._backoff.after(failures)
            if said == ErrorCode.CONCURRENT_TRANSACTIONS:
                pause_s = _CONCURRENT_S
            if loop.time() + pause_s >= deadline:
                raise _timed_out(key, is_definite=is_definite)
            await asyncio.sleep(pause_s)

    def _note(self, key: ApiKey, said: ErrorCode | ClientError) -> None:
        told = said.name if isinstance(said, ErrorCode) else _NO_ANSWER
        self.steps.append(TransactionStep(key, asyncio.get_running_loop().time(), told))


def _is_definite(said: ErrorCode | ClientError) -> bool:
    return is_refusal(said) if isinstance(said, ErrorCode) else said.is_definite


def _raise_if_over(key: ApiKey, said: ErrorCode | ClientError, *, is_definite: bool) -> None:
    """Unless the request is worth another try."""
    if isinstance(said, ErrorCode):
        kind = kind_of(key, said)
        if kind is not TransactionErrorKind.RETRIABLE:
            told = f"{key.name}: {said.name}"
            raise TransactionFailedError(kind, told, code=said, is_definite=is_definite)
    elif not said.is_retriable:
        told = f"{key.name}: {said}"
        raise TransactionFailedError(
            TransactionErrorKind.FATAL, told, code=None, is_definite=is_definite
        )


def _timed_out(key: ApiKey, *, is_definite: bool) -> TransactionFailedError:
    told = f"{key.name}: not answered in time"
    return TransactionFailedError(TransactionErrorKind.UNKNOWN, told, is_definite=is_definite)


def _code_of_added(answer: m.AddPartitionsToTxnResponse) -> int:
    """The first error of a partition that says more than that nothing was attempted."""
    codes = [
        part.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ]
    return _worst(codes)


def _code_of_offsets(answer: m.TxnOffsetCommitResponse) -> int:
    return _worst([part.error_code for topic in answer.topics for part in topic.partitions])


def _worst(codes: Iterable[int]) -> int:
    errors = [code for code in codes if code != ErrorCode.NONE]
    told = [code for code in errors if code != ErrorCode.OPERATION_NOT_ATTEMPTED]
    return (told or errors or [int(ErrorCode.NONE)])[0]
