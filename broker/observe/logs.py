"""Log lines as JSON, one object to a line, with the fields that tell a request's story."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from broker.world import WallClock, current_node

# Given by `extra=` at the call; spelled as Kafka's own request log spells them.
REQUEST_FIELDS = (
    "clientId",
    "correlationId",
    "apiKey",
    "apiVersion",
    "topic",
    "partition",
    "epoch",
    "latencyMs",
    "peer",
)


class JsonFormatter(logging.Formatter):
    """With a clock, a simulated node's lines carry simulated time."""

    def __init__(self, clock: WallClock | None = None) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        now_s = record.created if self._clock is None else self._clock.now_ms() / 1000
        time = datetime.fromtimestamp(now_s, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "node": current_node.get(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in REQUEST_FIELDS:
            value = record.__dict__.get(name)
            if value is not None:
                line[name] = value
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def set_up_logs(level: str, clock: WallClock | None = None) -> None:
    """Sends the broker's log lines to stderr as JSON; called once, by the command line."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter(clock))
    logger = logging.getLogger("broker")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
