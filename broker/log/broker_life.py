"""The small file that tells a killed process from a lost machine.

Whoever kills a broker leaves what it wrote in the system's cache, and nothing is lost. Only when
the system itself goes down may the ends of the logs be gone. So each life of a broker writes down
its epoch, and in which life of the system it ran: if that one still goes on at the next start, the
logs are as good as after a clean stop.
"""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

from broker.disk.interface import Disk
from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH

_log = logging.getLogger(__name__)

FILE_NAME = "broker-life"
NO_BOOT = ""
"""No life of any system, for a life that nothing can vouch for any more."""
_HARMED = -2


class Life(NamedTuple):
    """`broker_epoch` is -1 for a directory that never saw a life, or does not say."""

    broker_epoch: int = UNKNOWN_BROKER_EPOCH
    is_unharmed: bool = False
    """Whether nothing that it wrote can have been lost since."""


async def write_life(disk: Disk, broker_epoch: int, boot_id: str) -> None:
    """Durable before the broker may be counted on under this epoch."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch, "bootId": boot_id})
    await disk.replace(FILE_NAME, content.encode() + b"\n")


async def read_life(disk: Disk, boot_id: str) -> Life:
    try:
        plain = json.loads(await disk.read(FILE_NAME))
        return Life(int(plain["brokerEpoch"]), bool(boot_id) and plain["bootId"] == boot_id)
    except (OSError, ValueError, KeyError, TypeError):
        return Life()


async def life_after_clean_stop(disk: Disk, marker: bytes, boot_id: str) -> Life:
    """The life that the marker names, noted for this life of the system before the marker goes.

    The broker's own note is written when it is about to be let in. A kill before that loses
    nothing, though the system may have started again since the clean stop: this note says so.
    """
    life = life_before_clean_stop(marker)
    if life.is_unharmed:
        try:
            await write_life(disk, life.broker_epoch, boot_id)
        except OSError as problem:
            _log.warning("a kill during this start will count as a loss of power: %s", problem)
    return life


def life_before_clean_stop(marker: bytes) -> Life:
    """A marker that cannot be read vouches for the logs all the same, but names no epoch."""
    try:
        return last_life_from_the_wire(int(json.loads(marker)["brokerEpoch"]))
    except (ValueError, KeyError, TypeError):
        return Life()


def marker_of(life: Life) -> bytes:
    """Of a clean stop. A harmed life stays harmed, until the cluster has heard of it."""
    plain = {"version": 0, "brokerEpoch": previous_epoch_on_the_wire(life)}
    return json.dumps(plain).encode() + b"\n"


def previous_epoch_on_the_wire(life: Life) -> int:
    """Kafka knows the epoch of a clean stop, or -1. A harmed life is told by numbers below: it is
    over, and so its session need not be waited for, but its epoch vouches for nothing."""
    if life.is_unharmed or life.broker_epoch < 0:
        return life.broker_epoch
    return _HARMED - life.broker_epoch


def last_life_from_the_wire(previous_broker_epoch: int) -> Life:
    if previous_broker_epoch <= _HARMED:
        return Life(_HARMED - previous_broker_epoch, is_unharmed=False)
    return Life(previous_broker_epoch, is_unharmed=previous_broker_epoch >= 0)
