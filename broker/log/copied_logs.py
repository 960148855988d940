"""A log's copy in another log directory, on its way to take the log's place (KIP-113).

Until it does, it lies under a name that no start takes for a log: what a crash leaves of it is
deleted. It gets the log's own name only when it holds everything and is on the device.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from random import Random

from broker.log import identity
from broker.log.breather import Breather
from broker.log.file_names import TopicPartition
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.log.renamed_logs import FUTURE_SUFFIX, new_name
from broker.log.uninterrupted import uninterrupted
from broker.protocol.errors import KafkaError

_log = logging.getLogger(__name__)

_OF_NO_TOPIC = b""


async def create_copy(directory: LogDirectory, source: Log, topic_id: bytes, random: Random) -> Log:
    """An empty log for the records of `source`. Raises OSError."""
    name = new_name(f"{source.topic}-{source.partition}", FUTURE_SUFFIX, random)
    try:
        await directory.disk.make_directory(name)
        await identity.write_topic_id(directory.disk, name, topic_id)
        copy = await Log.open(
            directory.disk,
            name,
            source.config,
            clock=source.clock,
            was_clean=False,
            breather=Breather(),
            random=random,
            named=TopicPartition(source.topic, source.partition),
        )
    except BaseException:
        with suppress(OSError):
            await uninterrupted(directory.disk.delete_directory(name))
        raise
    copy.topic_id = topic_id
    return copy


async def drop_copy(directory: LogDirectory, copy: Log) -> None:
    """Whatever a broken disk keeps of it goes at the next start."""
    async with copy.changing, copy.syncing:  # what was begun goes on without whoever asked for it
        copy.abandon()
        try:
            await directory.disk.delete_directory(copy.directory)
        except OSError as problem:
            _log.warning("%s/%s cannot be deleted: %s", directory.path, copy.directory, problem)


async def take_over(directory: LogDirectory, copy: Log, random: Random) -> Log:
    """The copy as the log itself, on the device and in the checkpoints when this returns.

    Raises KafkaError or OSError, and then the copy does not have the log's name.
    """
    name = f"{copy.topic}-{copy.partition}"
    await copy.close()
    await directory.make_way(name, _OF_NO_TOPIC)  # whatever lies there, nobody serves it
    await directory.disk.rename(copy.directory, name)
    try:
        log = await Log.open(
            directory.disk,
            name,
            copy.config,
            clock=copy.clock,
            was_clean=True,
            recovery_point=copy.end_offset,
            start_offset=copy.start_offset,
            high_watermark=copy.high_watermark,
            breather=Breather(),
            random=random,
        )
    except (OSError, KafkaError):
        await directory.disk.rename(name, copy.directory)
        raise
    log.topic_id = copy.topic_id
    directory.adopt(log)
    try:
        # Records that were deleted must not come back, should this be the last thing that happens.
        await directory.checkpoint()
    except OSError:
        await directory.retire(log)
        raise
    return log
