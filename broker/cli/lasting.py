"""Leaves what lasts out of the garbage collector's rounds.

A round over all that ten thousand partitions hold takes most of a second, in which nobody is
answered and no heartbeat leaves. It comes whenever enough objects were made at once, and an answer
about all topics makes enough of them.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sized

_YOUNG_OBJECTS = 20_000
"""How many objects are made before the collector looks at them. With Python's 700, the requests of
a thousand clients that wait for one answer are looked at dozens of times: a tenth of the CPU time.
They take a few megabytes, and next to none of them are garbage that only the collector finds."""

_PARTITIONS = 500
_LOOK_S = 1.0


def leave_out() -> None:
    """What stands now stays for good, as far as it is no garbage yet."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


async def leave_out_what_lasts(partitions: Sized) -> None:
    """Until it is cancelled: again for each few hundred partitions that came or went."""
    known = len(partitions)
    while True:
        await asyncio.sleep(_LOOK_S)
        now = len(partitions)
        if abs(now - known) >= _PARTITIONS:
            if now < known:
                gc.unfreeze()  # Some of it lasted less than it seemed.
            leave_out()
            known = now
