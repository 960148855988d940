"""A controller that answers as the test says, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from broker.peers.channel import UnansweredError
from broker.protocol.apis import ApiKey
from broker.to_controller import ToController


class Question(NamedTuple):
    at_s: float
    api_key: ApiKey
    body: Any


class FakeController:
    """`answers` holds a function for each API; what it raises is raised to the one who asked."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.answers: dict[ApiKey, Callable[[Any], Any]] = {}
        self.is_reachable = True
        self.takes_s = 0.001

    async def ask(self, api_key: ApiKey, body: Any, *, timeout_s: float) -> Any:
        self.questions.append(Question(asyncio.get_running_loop().time(), api_key, body))
        await asyncio.sleep(min(self.takes_s, timeout_s))
        if not self.is_reachable or self.takes_s > timeout_s:
            raise UnansweredError("nobody is there")
        answer = self.answers[api_key](body)
        return await answer if inspect.isawaitable(answer) else answer

    def asked(self, api_key: ApiKey) -> list[Question]:
        return [each for each in self.questions if each.api_key == api_key]

    @property
    def to_controller(self) -> ToController:
        return cast("ToController", self)
