"""What a power loss leaves of a file that was not synced."""

from __future__ import annotations

from random import Random

from broker.disk.memory_tree import Inode

SECTOR = 512


def remains(inode: Inode, dice: Random | None) -> bytes:
    """One of the contents that a journaling file system may show after the lights went out.

    Synced bytes are always there. Without dice everything else is lost.
    """
    if inode.is_synced or dice is None:
        return inode.durable_content
    outcome = dice.choice(("lost", "kept", "prefix", "zeros", "garbage", "sectors"))
    if outcome == "lost":
        return inode.durable_content
    written = inode.reachable_content
    if outcome == "kept":
        return written
    cut = dice.randint(inode.common, len(written))
    if outcome == "prefix":
        return written[:cut]
    # The new size reached the device before the data did: delayed allocation shows such tails.
    torn_size = dice.randint(cut, len(written)) - cut
    if outcome == "zeros":
        return written[:cut] + bytes(torn_size)
    if outcome == "garbage":
        return written[:cut] + dice.randbytes(torn_size)
    return _some_sectors(written, inode.common, dice)


def _some_sectors(written: bytes, start: int, dice: Random) -> bytes:
    """Sectors reach the device in any order; those that did not read as zeros."""
    pieces = [written[:start]]
    position = start
    while position < len(written):
        end = min((position // SECTOR + 1) * SECTOR, len(written))
        piece = written[position:end]
        pieces.append(piece if dice.random() < 0.5 else bytes(len(piece)))
        position = end
    return b"".join(pieces)
