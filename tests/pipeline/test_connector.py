"""Spark's Kafka connector reads and writes topics of our broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.connector import add_connector
from tests.clients.transactional import ConfluentProducer
from tests.pipeline.kafka_topics import batch, delete_before, new_topic, send, stream, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    add_connector(spark)
    return spark


def numbered(first: int, end: int) -> list[str]:
    return [f"value {number}" for number in range(first, end)]


def copy_what_is_there(frame: DataFrame, into: Path) -> None:
    """One query with its checkpoint, which ends when everything present at its start is copied."""
    query = (
        frame.selectExpr("partition", "offset", "cast(value as string) value")
        .writeStream.format("parquet")
        .option("path", str(into / "rows"))
        .option("checkpointLocation", str(into / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def copied(session: SparkSession, into: Path) -> list[str]:
    return sorted(row.value for row in session.read.parquet(str(into / "rows")).collect())


def test_a_batch_has_every_record_with_key_headers_time_and_place(
    session: SparkSession, bootstrap: str
) -> None:
    topic = new_topic(bootstrap, partitions=2)
    send(
        *(bootstrap, topic, ["first", "second"]),
        partition=1,
        timestamp=1_700_000_000_123,
        headers=[("colour", b"blue"), ("colour", None), ("empty", b"")],
    )
    send(bootstrap, topic, ["other"], key=None, partition=0, timestamp=5)

    rows = batch(session, bootstrap, topic, includeHeaders="true").orderBy("partition", "offset")
    seen = [
        (
            *(row.topic, row.partition, row.offset, row.key, row.value),
            row.timestampType,
            [(header.key, header.value) for header in row.headers or ()],
        )
        for row in rows.collect()
    ]

    headers = [("colour", b"blue"), ("colour", None), ("empty", b"")]
    assert seen == [
        (topic, 0, 0, None, b"other", 0, []),
        (topic, 1, 0, b"first", b"first", 0, headers),
        (topic, 1, 1, b"second", b"second", 0, headers),
    ]
    times = rows.selectExpr("unix_millis(timestamp) as ms").collect()
    assert [row.ms for row in times] == [5, 1_700_000_000_123, 1_700_000_000_123]


def test_many_records_in_many_partitions_are_read_once_each(
    session: SparkSession, bootstrap: str
) -> None:
    topic = new_topic(bootstrap, partitions=6)
    values = numbered(0, 20_000)
    send(bootstrap, topic, values)
    frame = batch(session, bootstrap, topic, minPartitions="12")
    assert frame.rdd.getNumPartitions() >= 12
    assert sorted(texts(frame)) == sorted(values)


def test_offsets_bound_a_batch(session: SparkSession, bootstrap: str) -> None:
    topic = new_topic(bootstrap, partitions=2)
    send(bootstrap, topic, numbered(0, 10), partition=0)
    send(bootstrap, topic, numbered(10, 20), partition=1)
    frame = batch(
        *(session, bootstrap, topic),
        startingOffsets=json.dumps({topic: {"0": 7, "1": -2}}),
        endingOffsets=json.dumps({topic: {"0": -1, "1": 3}}),
    )
    assert texts(frame) == [*numbered(7, 10), *numbered(10, 13)]


def test_timestamps_bound_a_batch(session: SparkSession, bootstrap: str) -> None:
    topic = new_topic(bootstrap)
    for number in range(10):
        send(bootstrap, topic, [f"value {number}"], partition=0, timestamp=1000 * number + 500)

    one = batch(session, bootstrap, topic, startingTimestamp="4000", endingTimestamp="7000")
    by_partition = {"startingOffsetsByTimestamp": json.dumps({topic: {"0": 8500}})}

    assert texts(one) == numbered(4, 7)
    assert texts(batch(session, bootstrap, topic, **by_partition)) == numbered(8, 10)


def test_a_time_after_the_last_record_starts_at_the_end_if_asked_so(
    session: SparkSession, bootstrap: str
) -> None:
    topic = new_topic(bootstrap)
    send(bootstrap, topic, numbered(0, 3), partition=0, timestamp=1000)
    later = {
        "startingTimestamp": "2000",
        "startingOffsetsByTimestampStrategy": "latest",
    }
    assert texts(batch(session, bootstrap, topic, **later)) == []
    with pytest.raises(Exception, match="No offset matched"):
        texts(batch(session, bootstrap, topic, startingTimestamp="2000"))


def interrupted_transactions(bootstrap: str, topic: str) -> None:
    """Committed, aborted, committed, with plain records between."""
    producer = ConfluentProducer(bootstrap, f"id-{topic}")
    for outcome, numbers in (("commit", (0, 5)), ("abort", (5, 10)), ("commit", (10, 15))):
        producer.begin()
        for value in numbered(*numbers):
            producer.send(topic, 0, value.encode())
        getattr(producer, outcome)()
        send(bootstrap, topic, [f"plain after {outcome} {numbers[0]}"], partition=0)
    producer.close()


COMMITTED = [
    *(*numbered(0, 5), "plain after commit 0"),
    *("plain after abort 5", *numbered(10, 15), "plain after commit 10"),
]


def test_an_aborted_transaction_does_not_show_in_read_committed(
    session: SparkSession, bootstrap: str
) -> None:
    topic = new_topic(bootstrap)
    interrupted_transactions(bootstrap, topic)
    committed = batch(session, bootstrap, topic, **{"kafka.isolation.level": "read_committed"})
    assert texts(committed) == COMMITTED
    uncommitted = texts(batch(session, bootstrap, topic))
    assert uncommitted == [*COMMITTED[:6], *numbered(5, 10), *COMMITTED[6:]]


def test_an_open_transaction_ends_a_read_committed_batch_and_shows_once_it_is_committed(
    session: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    topic = new_topic(bootstrap)
    send(bootstrap, topic, ["before"], partition=0)
    producer = ConfluentProducer(bootstrap, f"id-{topic}")
    producer.begin()
    producer.send(topic, 0, b"inside")
    send(bootstrap, topic, ["behind"], partition=0)
    committed = {"kafka.isolation.level": "read_committed"}

    copy_what_is_there(stream(session, bootstrap, topic, **committed), tmp_path)
    assert copied(session, tmp_path) == ["before"]
    assert texts(batch(session, bootstrap, topic, **committed)) == ["before"]

    producer.commit()
    producer.close()
    copy_what_is_there(stream(session, bootstrap, topic, **committed), tmp_path)
    assert copied(session, tmp_path) == ["before", "behind", "inside"]


def test_a_read_committed_stream_ends_behind_the_marker_of_an_abort(
    session: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    topic = new_topic(bootstrap)
    interrupted_transactions(bootstrap, topic)
    producer = ConfluentProducer(bootstrap, f"id-{topic}")
    producer.begin()
    producer.send(topic, 0, b"aborted at the end")
    producer.abort()
    producer.close()
    committed = {"kafka.isolation.level": "read_committed"}
    for _ in range(2):
        copy_what_is_there(stream(session, bootstrap, topic, **committed), tmp_path)
        assert copied(session, tmp_path) == sorted(COMMITTED)


def test_available_now_goes_on_where_its_checkpoint_ends(
    session: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    topic = new_topic(bootstrap, partitions=3)
    for first in (0, 100, 200):
        send(bootstrap, topic, numbered(first, first + 100))
        # A rate limit makes several micro-batches of one call.
        frame = stream(session, bootstrap, topic, maxOffsetsPerTrigger="30")
        copy_what_is_there(frame, tmp_path)
        assert copied(session, tmp_path) == sorted(numbered(0, first + 100))


def running_copy(session: SparkSession, bootstrap: str, topic: str, into: Path) -> Any:
    return (
        stream(session, bootstrap, topic)
        .selectExpr("partition", "offset", "cast(value as string) value")
        .writeStream.format("parquet")
        .option("path", str(into / "rows"))
        .option("checkpointLocation", str(into / "checkpoint"))
        .trigger(processingTime="200 milliseconds")
        .start()
    )


def test_a_stopped_stream_started_again_has_each_record_once(
    session: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    topic = new_topic(bootstrap, partitions=3)
    for first in (0, 500, 1000):
        query = running_copy(session, bootstrap, topic, tmp_path)
        try:
            send(bootstrap, topic, numbered(first, first + 500))
            query.processAllAvailable()
        finally:
            query.stop()
        # These arrive while no query runs.
        send(bootstrap, topic, [f"between {first}"])
    copy_what_is_there(stream(session, bootstrap, topic), tmp_path)
    between = [f"between {first}" for first in (0, 500, 1000)]
    assert copied(session, tmp_path) == sorted([*numbered(0, 1500), *between])


def test_a_frame_is_written_with_keys_headers_and_partitions(
    session: SparkSession, bootstrap: str
) -> None:
    topic = new_topic(bootstrap, partitions=4)
    frame = session.range(1000).selectExpr(
        "cast(id as string) as key",
        "concat('value ', id) as value",
        "cast(id % 4 as int) as partition",
        "array(named_struct('key', 'number', 'value', cast(cast(id as string) as binary))) headers",
    )
    frame.write.format("kafka").options(
        **{"kafka.bootstrap.servers": bootstrap, "topic": topic, "includeHeaders": "true"}
    ).save()

    rows = batch(session, bootstrap, topic, includeHeaders="true").collect()
    assert sorted(
        (int(row.key), row.partition, row.value.decode(), row.headers[0].value.decode())
        for row in rows
    ) == [(number, number % 4, f"value {number}", str(number)) for number in range(1000)]


def test_a_stream_goes_from_topic_to_topic(
    session: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    source, target = new_topic(bootstrap, partitions=2), new_topic(bootstrap, partitions=2)
    send(bootstrap, source, numbered(0, 200))
    query = (
        stream(session, bootstrap, source)
        .select("key", "value")
        .writeStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": bootstrap, "topic": target})
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sorted(texts(batch(session, bootstrap, target))) == sorted(numbered(0, 200))


def test_records_deleted_meanwhile_fail_the_query_unless_loss_is_allowed(
    session: SparkSession, bootstrap: str
) -> None:
    topic = new_topic(bootstrap)
    send(bootstrap, topic, numbered(0, 10), partition=0)
    from_the_first = batch(
        *(session, bootstrap, topic),
        startingOffsets=json.dumps({topic: {"0": 0}}),
        failOnDataLoss="false",
    )
    strictly = batch(
        *(session, bootstrap, topic),
        startingOffsets=json.dumps({topic: {"0": 0}}),
        failOnDataLoss="true",
    )
    delete_before(bootstrap, topic, 0, 4)
    assert texts(from_the_first) == numbered(4, 10)
    with pytest.raises(Exception, match="SparkException"):
        texts(strictly)
