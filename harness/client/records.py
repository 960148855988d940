"""Records of the history as drivers send and read them, and back."""

from __future__ import annotations

from typing import Any

from harness.client.driver import Polled, Read, ToStore, place_of
from harness.client.payload import decode, encode

MicroOp = list[Any]


def to_store(key: str, value: int | None, stamp: int) -> ToStore:
    place = place_of(key)
    record_key = None if place.name is None else place.name.encode()
    return ToStore(place, record_key, None if value is None else encode(key, value), stamp)


def timestamps_of(polled: Polled) -> dict[str, list[int | None]] | None:
    """Timestamps of the polled records by key; None if the library tells none."""
    found = {
        key: [record.timestamp_ms for record in records]
        for key, records in polled.records.items()
        if records
    }
    is_known = any(stamp is not None for each in found.values() for stamp in each)
    return found if is_known else None


def known(stamps: list[Any]) -> list[Any] | None:
    return stamps if any(each is not None for each in stamps) else None


def acknowledge(micro_op: MicroOp, offset: int | None) -> None:
    if micro_op[0] != "append":
        micro_op[2] = [offset, micro_op[2]]


def value_of_record(record: Read, key: str) -> int | str | None:
    if record.key is None:
        return decode(record.payload, key)
    name = record.key.decode(errors="backslashreplace")
    return decode(record.payload, f"{key}/{name}", f"{place_of(key).topic}/{name}")
