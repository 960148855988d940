"""Leaves what lasts out of the garbage collector's rounds.

A round over all that ten thousand partitions hold takes most of a second, in which nobody is
answered and no heartbeat leaves. It comes whenever enough objects were made at once, and an answer
about all topics makes enough of them.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sized

_PARTITIONS = 500
_LOOK_S = 1.0


def leave_out() -> None:
    """What stands now stays for good, as far as it is no garbage yet."""
    gc.collect()
    gc.freeze()


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
