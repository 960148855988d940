"""What the nodes of a simulated cluster log, each line with its node and the run's own time."""

from __future__ import annotations

import asyncio
import logging

from broker.world import current_node


class _InTheRun(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        try:
            at = f"{asyncio.get_running_loop().time():10.4f}"
        except RuntimeError:
            at = " " * 10
        level = record.levelname[0]
        return f"{at} n{current_node.get()} {level} {record.name}: {record.getMessage()}"


def show_node_logs(show: bool) -> None:
    """Without it the nodes are silent, however badly they fare: their clients tell."""
    logger = logging.getLogger("broker")
    logger.handlers.clear()
    logger.propagate = False
    handler: logging.Handler = logging.NullHandler()
    if show:
        handler = logging.StreamHandler()
        handler.setFormatter(_InTheRun())
        logger.setLevel(logging.INFO)
    logger.addHandler(handler)
