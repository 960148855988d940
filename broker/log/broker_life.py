"""The small file that tells a killed process from a lost machine.

Whoever kills a broker leaves what it wrote in the system's cache, and nothing is lost. Only when
the system itself goes down may the ends of the logs be gone. So each life of a broker writes down
its epoch, and in which life of the system it ran: if that one still goes on at the next start, the
logs are as good as after a clean stop.
"""

from __future__ import annotations

import json

from broker.disk.interface import Disk

FILE_NAME = "broker-life"
UNKNOWN_BROKER_EPOCH = -1


async def write_life(disk: Disk, broker_epoch: int, boot_id: str) -> None:
    """Durable before the broker may be counted on under this epoch."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch, "bootId": boot_id})
    await disk.replace(FILE_NAME, content.encode() + b"\n")


async def epoch_if_unharmed(disk: Disk, boot_id: str) -> int:
    """Of the last life, if the system has not gone down since; -1 otherwise, or when unknown."""
    try:
        plain = json.loads(await disk.read(FILE_NAME))
        is_same_boot = bool(boot_id) and plain["bootId"] == boot_id
        return int(plain["brokerEpoch"]) if is_same_boot else UNKNOWN_BROKER_EPOCH
    except (OSError, ValueError, KeyError, TypeError):
        return UNKNOWN_BROKER_EPOCH


def epoch_in_marker(marker: bytes) -> int:
    """As a clean stop left it; a marker that cannot be read vouches for the logs all the same."""
    try:
        return int(json.loads(marker)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return UNKNOWN_BROKER_EPOCH


def marker_of(broker_epoch: int) -> bytes:
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}).encode() + b"\n"
