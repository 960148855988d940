"""The names of the files in a partition's directory, as Kafka spells them."""

from __future__ import annotations

import re
from typing import NamedTuple

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"

CLEANED = ".cleaned"
SWAP = ".swap"
DELETED = ".deleted"
LEFTOVERS = (CLEANED, DELETED, ".tmp")
"""Remains of something that a crash cut short before it counted."""

EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

INDEXES = (OFFSET_INDEX, TIME_INDEX, TXN_INDEX)


class TopicPartition(NamedTuple):
    topic: str
    partition: int


def parse_directory(name: str) -> TopicPartition | None:
    """`orders-7` is partition 7 of orders; None for a directory that holds no log."""
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not partition.isdecimal():
        return None
    return TopicPartition(topic, int(partition))


_NAME = re.compile(r"(\d{20})(\.[a-z]+)")


def segment_path(directory: str, base_offset: int, kind: str) -> str:
    return f"{directory}/{base_offset:020d}{kind}"


def parse(name: str) -> tuple[int, str] | None:
    """The offset and the kind of `00000000000000000042.log`; None for other files."""
    match = _NAME.fullmatch(name)
    return (int(match[1]), match[2]) if match else None
