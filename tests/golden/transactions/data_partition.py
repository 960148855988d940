"""A partition of a topic by the rules of the log alone: what is written, what readers may see."""

from __future__ import annotations

from broker.log.marker_check import AlreadyEndedError, check_marker
from broker.log.origin import Origin
from broker.log.producer_state import Producer, after_data, after_marker
from broker.protocol import messages as m
from broker.protocol.batch import TRANSACTIONAL, read_header
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.records import Record, build_batch

_TIME_MS = 1_700_000_000_000


class DataPartition:
    def __init__(self) -> None:
        self.has_leader = True
        self.entries: list[tuple[int, str]] = []
        """Producer ids and values; `+` and `-` are markers."""
        self._producers: dict[int, Producer] = {}

    def is_open(self, producer_id: int, epoch: int) -> bool:
        known = self._producers.get(producer_id)
        return known is not None and known.epoch == epoch and known.txn_first_offset is not None

    def append(self, producer_id: int, epoch: int, sequence: int, value: str) -> str:
        """Where the record is, or why it is not there."""
        batch = build_batch(
            [Record(0, _TIME_MS, None, value.encode())],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL,
        )
        header, before = read_header(batch), self._producers.get(producer_id)
        if before is not None and (found := before.find_duplicate(header)) is not None:
            return f"a duplicate of offset {found.last_offset}"
        try:
            after = after_data(before, header, len(self.entries), 0, Origin.CLIENT)
        except KafkaError as error:
            return error.code.name
        self._producers[producer_id] = after
        self.entries.append((producer_id, value))
        return f"offset {len(self.entries) - 1}"

    def end(self, asked: m.WritableTxnMarker) -> ErrorCode:
        marker = EndTransactionMarker(asked.transaction_result, asked.coordinator_epoch)
        producer_id, epoch = asked.producer_id, asked.producer_epoch
        batch = build_marker_batch(
            marker, producer_id=producer_id, producer_epoch=epoch, time_ms=_TIME_MS
        )
        before = self._producers.get(producer_id)
        try:
            check_marker(before, epoch, marker, asked.transaction_version)
            after, _ = after_marker(
                before, read_header(batch), marker, len(self.entries), 0, Origin.COORDINATOR
            )
        except AlreadyEndedError:
            return ErrorCode.NONE
        except KafkaError as error:
            return error.code
        self._producers[producer_id] = after
        self.entries.append((producer_id, "+" if marker.committed else "-"))
        return ErrorCode.NONE

    def committed(self) -> str:
        """What a reader of committed records sees, up to the first open transaction."""
        firsts = (each.txn_first_offset for each in self._producers.values())
        end = min([len(self.entries), *(each for each in firsts if each is not None)])
        seen: list[str] = []
        for offset, (producer_id, value) in enumerate(self.entries[:end]):
            outcome = next(
                what for who, what in self.entries[offset:] if who == producer_id and what in "+-"
            )
            if value not in "+-" and outcome == "+":
                seen.append(value)
        text = " ".join(seen) or "nothing"
        return text if end == len(self.entries) else f"{text}, and waits at offset {end}"
