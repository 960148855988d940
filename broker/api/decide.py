"""Decides on changes to the metadata and commits them, anew whenever another was faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker.metadata.changes import Change
from broker.metadata.image import ConflictError
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def decide_and_change(node: Node, decide: Callable[[], Sequence[Change]]) -> None:
    """`decide` looks at the image and must forget what it decided before.

    Raises KafkaError(KAFKA_STORAGE_ERROR) when the disk refuses.
    """
    while changes := decide():
        try:
            await node.change(changes)
        except ConflictError:
            continue
        except OSError as error:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"the change could not be made durable: {error}"
            ) from error
        return
