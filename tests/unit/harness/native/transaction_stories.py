"""What a transactional producer should see, told to a broker of ours and to Apache Kafka alike."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.native.client import Client
from harness.native.coordinator import GroupCoordinator
from harness.native.produce_queue import Delivered
from harness.native.reader import LATEST, READ_COMMITTED, READ_UNCOMMITTED, FetchSettings
from harness.native.transaction_errors import TransactionErrorKind, TransactionFailedError
from harness.native.transaction_requests import GroupClaim
from harness.native.transactional import TransactionalProducer

FIRST, SECOND = "EndTxn=4", "newest"
"""How the client is told which protocol to speak."""


async def values(client: Client, topic: str, isolation: int) -> list[bytes | None]:
    """Of both partitions, up to the end that this isolation level has."""
    reader, found = client.reader(), []
    how = FetchSettings(isolation=isolation, max_wait_s=0.0)
    for partition in (0, 1):
        position = 0
        end = (await reader.list_offset(topic, partition, LATEST, isolation=isolation)).offset
        while position < end:
            fetched = await reader.fetch(topic, partition, position, how)
            found += [record.value for record in fetched.records]
            position = fetched.next_offset
    return found


async def sent(
    producer: TransactionalProducer, topic: str, content: Sequence[bytes]
) -> list[Delivered]:
    outcomes = [producer.submit(topic, at % 2, [(None, value)]) for at, value in enumerate(content)]
    delivered = [await each for each in outcomes]
    assert all(isinstance(each, Delivered) for each in delivered), delivered
    return [each for each in delivered if isinstance(each, Delivered)]


async def tell_story(client: Client, other: Client, name: str, *, uses_protocol_2: bool) -> None:
    """Commits, aborts and offsets, and then another producer of the same id."""
    await client.admin.create_topic(name, partitions=2, replication_factor=1)
    # Kafka answers before its broker leads the partitions. If it refuses the first of two batches
    # for that and takes the second, the first is out of order for ever (KIP-360), and aborts.
    assert await values(client, name, READ_UNCOMMITTED) == []
    producer = client.transactional_producer(name, timeout_ms=30_000)
    await producer.init()
    assert producer.uses_protocol_2 is uses_protocol_2
    epochs = [producer.current]

    producer.begin()
    await sent(producer, name, [b"a", b"b", b"c"])
    await producer.send_offsets({(name, 0): 5}, GroupClaim(name))
    await producer.commit()
    epochs.append(producer.current)

    producer.begin()
    await sent(producer, name, [b"x", b"y"])
    await producer.send_offsets({(name, 0): 9}, GroupClaim(name))
    await producer.abort()
    epochs.append(producer.current)
    assert len(set(epochs)) == (3 if uses_protocol_2 else 1)

    # Nothing was sent, so there is nothing for the coordinator to end.
    producer.begin()
    await producer.commit()

    producer.begin()
    await sent(producer, name, [b"zombie"])
    heir = other.transactional_producer(name, timeout_ms=30_000)
    await heir.init()
    with pytest.raises(TransactionFailedError) as refused:
        await producer.commit()
    assert (refused.value.kind, refused.value.is_definite) == (TransactionErrorKind.FENCED, True)

    heir.begin()
    await sent(heir, name, [b"d"])
    await heir.commit()
    last = other.transactional_producer(name, timeout_ms=30_000)
    await last.init()  # and so the markers of all others are written

    assert sorted(map(bytes, filter(None, await values(client, name, READ_COMMITTED)))) == [
        *(b"a", b"b", b"c", b"d")
    ]
    everything = await values(client, name, READ_UNCOMMITTED)
    assert {b"a", b"b", b"c", b"d", b"x", b"y", b"zombie"} == set(everything)
    coordinator = GroupCoordinator(client, name)
    found = await client.retried(lambda: coordinator.committed([(name, 0)]))
    assert found == {(name, 0): 5}
