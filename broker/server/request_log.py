"""One line in the log for each request, when the log level asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from broker.api.request import Request
from broker.protocol import messages as m

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger("broker.request")


class RequestLog:
    """Asked once whether it is on: a request that is not logged pays nothing."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.level_changed()

    def level_changed(self) -> None:
        self.is_on = _log.isEnabledFor(logging.DEBUG)

    def answered(self, request: Request[Any], elapsed_s: float) -> None:
        fields: dict[str, Any] = {
            "apiKey": request.api_key,
            "apiVersion": request.version,
            "clientId": request.client_id,
            "correlationId": request.correlation_id,
            "latencyMs": round(elapsed_s * 1000, 3),
        }
        for topic, index in _partitions(request.body):
            partition = self._node.partitions.find(topic, index)
            epoch = None if partition is None else partition.leader_epoch
            _log.debug(
                "answered", extra={**fields, "topic": topic, "partition": index, "epoch": epoch}
            )
            return
        _log.debug("answered", extra=fields)


def _partitions(body: object) -> Iterator[tuple[str, int]]:
    """The partitions that a request of the data path names; one line tells the first of them."""
    if isinstance(body, m.ProduceRequest):
        for data in body.topic_data:
            for produced in data.partition_data:
                yield data.name, produced.index
    elif isinstance(body, m.FetchRequest):
        for topic in body.topics:
            for fetched in topic.partitions:
                yield topic.topic, fetched.partition
