"""An answer that comes later, by a call: for requests that are too many and too small for a task.

A task, its future and their turns of the loop cost as much as all the rest of a heartbeat. A
handler that only waits for one coordinator's reply returns a `Later`, and the connection sends
the answer in the moment in which it is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from broker.protocol.errors import KafkaError

if TYPE_CHECKING:
    from broker.group_coordinator import Run
    from broker.node import Node

Answer = TypeVar("Answer")


class Later(Generic[Answer]):
    """Its work begins with the only call of `then`. It goes on if the client is gone meanwhile."""

    __slots__ = ("then",)

    def __init__(self, then: Callable[[Callable[[Answer], None]], None]) -> None:
        self.then = then
        """Takes a function that is called once with the answer, maybe at once. That happens in the
        middle of the work of others: the function must neither raise nor begin another request."""

    def __await__(self) -> Generator[Any, None, Answer]:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.then(lambda known: None if answer.done() else answer.set_result(known))
        return answer.__await__()


def known(answer: Answer) -> Later[Answer]:
    """An answer that needs no work."""
    return Later(lambda answered: answered(answer))


def reply_of_group(
    node: Node, group_id: str, run: Run, failed: Callable[[KafkaError], Answer]
) -> Later[Answer]:
    """The reply of the group's machine, or what `failed` makes of the reason why there is none."""

    def then(answered: Callable[[Answer], None]) -> None:
        def replied(reply: Any) -> None:
            answered(failed(reply) if isinstance(reply, KafkaError) else reply)

        node.groups.call(group_id, run, replied)

    return Later(then)
