"""One burst on its way through librdkafka: hands records over in portions, collects the reports.

An idempotent librdkafka (2.16, `rd_kafka_toppar_producer_serve`) sends nothing more to a partition
while five records of it or more are without a response: it counts records where the broker's
window is one of five batches. If further records wait behind that limit, its thread for the broker
never sleeps: it polls the socket with a time-out of 0 until the response comes. With bursts this
was 80 % of the CPU time of all client processes, time that the brokers then lacked.

Therefore no more records of a partition are handed over than librdkafka can send at once. It would
have sent the others no earlier, so the requests, and what is in flight, stay the same. The rest
wait here. Records that name no partition are handed over at once, because two of them may belong
to one partition, and their order must stay.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from harness.client.driver import ANY_PARTITION, DriverError, Stored, ToStore
from harness.client.librdkafka import Config, driver_error

_UNANSWERED_MAX = 5
"""With fewer records than these in flight, librdkafka sends another batch to a partition."""
_BATCH_OVERHEAD = 105
_RECORD_OVERHEAD = 12
"""Bytes that librdkafka counts against batch.size besides keys and values: of the request, and of
each record. Measured, and rounded up: a record too few in a batch costs less than one that waits.
"""


class Patience(NamedTuple):
    """How long a burst may take, in seconds from its beginning."""

    to_send: float
    """After this no record is handed over any more."""
    to_end: float
    """After this no report is waited for any more."""
    drops: bool = False
    """Whether what has no report after `to_send` is dropped, instead of left to librdkafka's own
    time-out. See `librdkafka.producer_config` for the reason."""

    def next_s(self, taken_s: float) -> float:
        """Seconds until the next of its moments."""
        return (self.to_send if taken_s < self.to_send else self.to_end) - taken_s


class Portions:
    """How many records of one partition librdkafka gets at a time, by its configuration."""

    def __init__(self, config: Config) -> None:
        self._is_limited = str(config["enable.idempotence"]).lower() == "true"
        self._room = int(config["batch.size"]) - _BATCH_OVERHEAD

    def of(self, records: Sequence[ToStore]) -> int:
        """Records of a full batch; of small batches as many full ones as can be in flight."""
        if not self._is_limited or any(each.place.partition == ANY_PARTITION for each in records):
            return len(records)
        largest = max(len(each.payload or b"") + len(each.key or b"") for each in records)
        batch = max(1, self._room // (largest + _RECORD_OVERHEAD))
        return batch * -(-_UNANSWERED_MAX // batch)


class Burst:
    """The records of one call, and their ends.

    A report that comes after the call ends here, too, and not among those of the next call.
    """

    def __init__(self, producer: Producer, records: Sequence[ToStore], portion: int) -> None:
        self._producer = producer
        self._records = records
        self._portion = portion
        self._ends: list[Stored | DriverError | None] = [None] * len(records)
        self._missing = len(records)
        self._waiting: dict[tuple[str, int], deque[int]] = {}
        """By partition: records that were not handed over yet."""
        self._unanswered: dict[tuple[str, int], int] = {}
        """By partition: records that were handed over and have no report."""

    def send(
        self, refused: Mapping[int, DriverError], patience: Patience
    ) -> list[Stored | DriverError]:
        """Returns the end of each record. `refused`: records not to be sent, by their number."""
        begun_s = time.monotonic()
        late = DriverError("_TIMED_OUT", "no delivery report in time")
        for at, record in enumerate(self._records):
            if at in refused:
                self._end(at, refused[at])
                continue
            where = record.place.topic, record.place.partition
            self._waiting.setdefault(where, deque()).append(at)
        self._hand_over()
        is_to_drop = patience.drops
        while self._missing:
            taken_s = time.monotonic() - begun_s
            if taken_s >= patience.to_end:
                break
            try:
                self._producer.poll(min(patience.next_s(taken_s), 1.0))
            except KafkaException as error:  # a fatal one: no report will come any more
                late = driver_error(error.args[0])
                break
            if self._waiting and taken_s < patience.to_send:
                self._hand_over()
            elif self._waiting:
                self._give_up()
            if is_to_drop and taken_s >= patience.to_send:
                is_to_drop = False
                self._producer.purge()
        return [late if end is None else end for end in self._ends]

    def _hand_over(self) -> None:
        """The next records of each partition. Where a batch is smaller than a portion, a batch
        replaces each that was answered; a larger one follows when all records before it were."""
        for where, waiting in list(self._waiting.items()):
            unanswered = self._unanswered.get(where, 0)
            if unanswered >= _UNANSWERED_MAX:
                continue
            for _ in range(min(self._portion - unanswered, len(waiting))):
                self._produce(waiting.popleft(), where)
            if not waiting:
                del self._waiting[where]

    def _produce(self, at: int, where: tuple[str, int]) -> None:
        place, key, payload, timestamp_ms = self._records[at]
        self._unanswered[where] = self._unanswered.get(where, 0) + 1
        report = self._report(at, where)
        try:
            self._producer.produce(
                place.topic,
                payload,
                key,
                place.partition,
                on_delivery=report,
                timestamp=timestamp_ms,
            )
        except BufferError as error:
            self._end(at, DriverError("_QUEUE_FULL", str(error), harmless=True), where)
        except KafkaException as error:
            self._end(at, driver_error(error.args[0], harmless=True), where)

    def _report(
        self, at: int, where: tuple[str, int]
    ) -> Callable[[KafkaError | None, Message], None]:
        def take(problem: KafkaError | None, message: Message) -> None:
            partition = message.partition()
            if problem is not None:
                # A record that was given no partition has never left the client.
                error = driver_error(problem, harmless=partition is None)
                error.partition = partition
                self._end(at, error, where)
                return
            offset = message.offset()
            known = None if offset is None or offset < 0 else offset
            self._end(at, Stored(known, None, partition), where)

        return take

    def _end(
        self, at: int, end: Stored | DriverError, where: tuple[str, int] | None = None
    ) -> None:
        self._ends[at] = end
        self._missing -= 1
        if where is not None:
            self._unanswered[where] -= 1

    def _give_up(self) -> None:
        """Records that are still here were never sent."""
        unsent = DriverError("_TIMED_OUT", "records before it took all the time", harmless=True)
        for waiting in self._waiting.values():
            for at in waiting:
                self._end(at, unsent)
        self._waiting.clear()
