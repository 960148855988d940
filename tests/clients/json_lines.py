"""A client in another language: a child process that answers one JSON line per JSON line."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.clients.speaker import TIMEOUT_S, Message, Stored


class JsonLinesProcess:
    """Kills the child when an answer takes longer than `TIMEOUT_S`; then every call fails."""

    def __init__(self, command: Sequence[str], cwd: Path, name: str) -> None:
        self._name = name
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        """The answer's `result`; an `error` in it is raised as an AssertionError."""
        self.send(do, **arguments)
        return self.receive(do)

    def send(self, do: str, **arguments: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()

    def receive(self, do: str) -> Any:
        assert self._process.stdout is not None
        stuck = threading.Timer(2 * TIMEOUT_S, self._process.kill)
        stuck.start()
        try:
            line = self._process.stdout.readline()
        finally:
            stuck.cancel()
        assert line, f"{self._name} ended or hung while doing: {do}"
        answer: Mapping[str, Any] = json.loads(line)
        assert "error" not in answer, f"{self._name}, {do}: {answer['error']}"
        return answer["result"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def as_json(message: Message) -> dict[str, object]:
    return {
        "key": _text(message.key),
        "value": _text(message.value),
        "headers": [[key, _text(value)] for key, value in message.headers],
        "timestamp": message.timestamp_ms,
    }


def from_json(record: Mapping[str, Any]) -> Stored:
    headers = tuple((key, _bytes(value)) for key, value in record["headers"])
    message = Message(_bytes(record["value"]), _bytes(record["key"]), headers, record["timestamp"])
    return Stored(record["offset"], record["timestamp"], message)


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
