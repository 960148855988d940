"""Decides on changes to the metadata and commits them; the disk's refusal becomes Kafka's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker.metadata.changes import Change
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def decide_and_change(node: Node, decide: Callable[[], Sequence[Change]]) -> None:
    """`decide` looks at an image that nobody changes before its changes are made.

    Raises KafkaError(KAFKA_STORAGE_ERROR) when the disk refuses.
    """
    try:
        await node.change(decide)
    except OSError as error:
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"the change could not be made durable: {error}"
        ) from error
