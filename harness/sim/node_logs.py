"""What the nodes of a simulated cluster log, each line with its node and the run's own time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from broker.world import current_node


class _InTheRun(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        try:
            at = f"{asyncio.get_running_loop().time():10.4f}"
        except RuntimeError:
            at = " " * 10
        level = record.levelname[0]
        return f"{at} n{current_node.get()} {level} {record.name}: {record.getMessage()}"


@contextmanager
def node_logs(*, shown: bool) -> Iterator[None]:
    """Unless shown, the nodes are silent, however badly they fare: their clients tell."""
    logger = logging.getLogger("broker")
    before = logger.handlers[:], logger.propagate, logger.level
    logger.handlers.clear()
    logger.propagate = False
    handler: logging.Handler = logging.NullHandler()
    if shown:
        handler = logging.StreamHandler()
        handler.setFormatter(_InTheRun())
        logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.handlers[:], logger.propagate, logger.level = before
