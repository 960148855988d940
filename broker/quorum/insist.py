"""What must be written before anything else may happen: a full disk is waited for, and no other.

Any other failure of the disk leaves nobody who could say what is on it. It is raised, and ends the
node: a start finds out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from broker.log.room import is_lack_of_room
from broker.protocol.errors import KafkaError

RETRY_S = 1.0

_Result = TypeVar("_Result")


def lack_of_room(error: OSError | KafkaError) -> OSError | None:
    """The disk's refusal if it has no room, also when a log raised a KafkaError from it.

    A metadata log that is offline says so, too, but only while a truncation that found no room is
    tried again: any other failure of it ends the node (`Quorum`).
    """
    problem = error if isinstance(error, OSError) else error.__cause__
    return problem if isinstance(problem, OSError) and is_lack_of_room(problem) else None


async def insist(
    deed: Callable[[], Awaitable[_Result]], tell: Callable[[OSError | None], None]
) -> _Result:
    """`tell` is told of the lack of room, and None when it is over."""
    was_refused = False
    while True:
        try:
            result = await deed()
        except (OSError, KafkaError) as error:
            problem = lack_of_room(error)
            if problem is None:
                raise
            was_refused = True
            tell(problem)
            await asyncio.sleep(RETRY_S)
            continue
        if was_refused:
            tell(None)
        return result
