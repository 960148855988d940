"""Transactional producers for scripts."""

from __future__ import annotations

from typing import Any, NamedTuple

from broker.protocol.apis import ApiKey
from tests.differential.talk import Fields, Talk

TIMEOUT_MS = 60_000
_TRANSACTION = 1


class Producer(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int

    @property
    def fields(self) -> Fields:
        """The producer as most requests name it."""
        return self._asdict()

    def with_epoch(self, epoch: int) -> Producer:
        return self._replace(producer_epoch=epoch)


def new_id(talk: Talk) -> str:
    """A transactional id whose coordinator is ready, and has producer ids."""
    talk.setup(ApiKey.INIT_PRODUCER_ID, version=1, transactional_id=None)
    name = talk.name("transaction")
    find_coordinator(talk, name)
    return name


def find_coordinator(talk: Talk, name: str) -> None:
    talk.setup(
        ApiKey.FIND_COORDINATOR, version=4, key_type=_TRANSACTION, coordinator_keys=[name],
        until=lambda response: response.coordinators[0].error_code == 0,
    )  # fmt: skip
    talk.setup(ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name])  # until it is loaded


def new_producer(talk: Talk, name: str | None = None, timeout_ms: int = TIMEOUT_MS) -> Producer:
    """The next producer of that transactional id, or of a new one."""
    name = name or new_id(talk)
    given = talk.setup(
        ApiKey.INIT_PRODUCER_ID, version=4, transactional_id=name,
        transaction_timeout_ms=timeout_ms, until=lambda response: response.error_code == 0,
    )  # fmt: skip
    return Producer(name, given.producer_id, given.producer_epoch)


def add(talk: Talk, producer: Producer, topic: str, *partitions: int) -> None:
    """Partitions join the transaction, as clients of the classic version have it."""
    talk.setup(
        ApiKey.ADD_PARTITIONS_TO_TXN, version=3,
        until=lambda response: response.results_by_topic_v3_and_below[0]
        .results_by_partition[0].partition_error_code == 0,
        **classic_partitions(producer, topic, *partitions),
    )  # fmt: skip


def classic_partitions(producer: Producer, topic: str, *partitions: int) -> Fields:
    return {
        "v3_and_below_transactional_id": producer.transactional_id,
        "v3_and_below_producer_id": producer.producer_id,
        "v3_and_below_producer_epoch": producer.producer_epoch,
        "v3_and_below_topics": [{"name": topic, "partitions": list(partitions)}],
    }


def end(talk: Talk, producer: Producer, *, commit: bool, version: int = 4) -> Producer:
    """Until markers are written; gives the producer of the next transaction."""
    given = talk.setup(
        ApiKey.END_TXN, version=version, committed=commit, **producer.fields,
        until=lambda response: response.error_code == 0,
    )  # fmt: skip
    settle(talk, producer.transactional_id)
    if version < 5:
        return producer
    return Producer(producer.transactional_id, given.producer_id, given.producer_epoch)


def settle(talk: Talk, name: str) -> Any:
    """Until no end of a transaction is under way."""
    return talk.setup(
        ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name],
        until=lambda response: not response.transaction_states[0].transaction_state.startswith(
            "Prepare"
        ),
    )  # fmt: skip


def until_state(talk: Talk, name: str, state: str) -> None:
    talk.setup(
        ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=[name],
        until=lambda response: response.transaction_states[0].transaction_state == state,
    )  # fmt: skip
