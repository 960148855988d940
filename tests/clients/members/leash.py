"""What every member that is written in Python has in common: events out, commands in."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any


class Leash:
    def __init__(self) -> None:
        self.options: dict[str, Any] = json.loads(sys.argv[1])
        self._commands: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._commands.put(json.loads(line))
        self._commands.put(None)

    def command(self) -> dict[str, Any] | None:
        """The next command, an empty one if there is none, None at the end."""
        try:
            return self._commands.get_nowait()
        except queue.Empty:
            return {}

    def wait_for_command(self) -> None:
        """Whatever it says."""
        self._commands.get()

    def say(self, event: str, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
        sys.stdout.flush()

    def obey(self, command: dict[str, Any], commit: Callable[[], Any], *errors: Any) -> None:
        """All commands end with a commit; `errors` are what it may raise."""
        if command["do"] == "stall":
            time.sleep(command["seconds"])
        try:
            commit()
        except errors as error:
            self.say("committed", error=str(error))
        else:
            self.say("committed", error=None)
