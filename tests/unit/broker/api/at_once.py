"""Handlers that may pause, called where nobody wants to wait."""

from collections.abc import Coroutine
from typing import Any, TypeVar, overload

Answer = TypeVar("Answer")


@overload
def at_once(answer: Coroutine[Any, Any, Answer]) -> Answer: ...
@overload
def at_once(answer: Answer) -> Answer: ...
def at_once(answer: Answer | Coroutine[Any, Any, Answer]) -> Answer:
    """What a handler answers that waits for nothing, whether or not it pauses."""
    if not isinstance(answer, Coroutine):
        return answer
    while True:
        try:
            waits_for = answer.send(None)
        except StopIteration as done:
            result: Answer = done.value
            return result
        assert waits_for is None, "the handler waits for something"
