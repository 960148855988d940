"""A full disk: the log takes no records, but everything in it can be read, and deleted."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING

from broker.log.segment import FailedReadError, FailedSyncError, failed_read
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.log.log import Log

_log = logging.getLogger(__name__)


def is_lack_of_room(problem: OSError) -> bool:
    """Whether a write was refused because the disk is full, so that a later one may succeed.

    A sync that finds no room has lost what was written, and a read needs no room: both are failures
    like any other.
    """
    is_full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
    return is_full and not isinstance(problem, FailedSyncError | FailedReadError)


def refuse(log: Log, problem: OSError) -> KafkaError:
    if not is_lack_of_room(problem):
        return log.fail(problem)
    if log.no_room is None:
        log.no_room = problem
        _log.error("%s takes no records until there is room: %s", log.directory, problem)
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{log.directory} is full: {problem}")


async def look_for_room(log: Log) -> None:
    """Some to spare, or the log would be full again with the next batch."""
    try:
        free_bytes = await log.disk.free_bytes()
    except OSError as problem:
        failure = failed_read(problem)
        raise log.fail(failure) from failure
    if log.no_room is not None and free_bytes < 2 * log.config.max_message_bytes:
        raise refuse(log, log.no_room) from log.no_room
    log.no_room = None
