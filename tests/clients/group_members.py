"""Members of consumer groups, each a process of its own with a real client, that can be killed.

A child prints one JSON line for each event and takes one JSON line for each command:

    {"event": "assigned", "partitions": [0, 2]}     all that it has from now on
    {"event": "record", "partition": 0, "offset": 7}
    {"event": "committed", "error": null}           the answer to {"do": "commit"}
    {"event": "error", "message": "..."}

With the option `protocol` of `consumer` it speaks the new protocol (KIP-848), and with `regex` it
subscribes to an expression instead of a topic; `topics` of `assigned` then has the names.

With `held` it says {"event": "ready"} and joins when it gets {"do": "start"}: a program that takes
seconds to start can so take the place of another at once.

Other commands are {"do": "stall", "seconds": 9}, for an application that does not poll meanwhile
and commits then, and the end of its input, on which it leaves the group.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.clients.java_speaker import SHORT_LIVED
from tests.clients.kafkajs_speaker import install_kafkajs
from tests.clients.speaker import TIMEOUT_S

HERE = Path(__file__).parent


def _python(name: str) -> Callable[[str], list[str]]:
    return lambda options: [sys.executable, "-m", f"tests.clients.members.{name}", options]


def _kafkajs(options: str) -> list[str]:
    install_kafkajs()
    return ["node", str(HERE / "kafkajs" / "member.js"), options]


def _java(options: str) -> list[str]:
    from bench.apache_kafka import java_command

    return java_command(str(HERE / "java" / "Member.java"), [options], SHORT_LIVED)


COMMANDS: Mapping[str, Callable[[str], list[str]]] = {
    "confluent-kafka": _python("confluent_member"),
    "aiokafka": _python("aiokafka_member"),
    "kafka-python": _python("kafka_python_member"),
    "kafkajs": _kafkajs,
    "java": _java,
}


class GroupMember:
    """`events` are in the order in which the child reported them."""

    def __init__(self, client: str, options: Mapping[str, Any]) -> None:
        self.name = f"{client} {options['client_id']}"
        is_cooperative = options["strategy"] == "cooperative-sticky"
        self._keeps = is_cooperative or options.get("protocol") == "consumer"
        self.events: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            COMMANDS[client](json.dumps(options)),
            cwd=HERE.parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.events.append({**json.loads(line), "at": time.monotonic()})
                self._changed.notify_all()
        with self._changed:
            self.events.append({"event": "ended", "at": time.monotonic()})
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line]

    # What it has seen

    @property
    def assigned(self) -> list[int] | None:
        """Its partitions by the last assignment; None before the first."""
        found = [each["partitions"] for each in self.of("assigned")]
        return sorted(found[-1]) if found else None

    def of(self, event: str) -> list[dict[str, Any]]:
        return [each for each in list(self.events) if each["event"] == event]

    def records(self, partition: int) -> list[int]:
        """The offsets that it has read since its last assignment, in the order in which it did."""
        found: list[int] = []
        for each in list(self.events):
            if each["event"] == "assigned" and not self._keeps:
                found = []
            elif each["event"] == "record" and each["partition"] == partition:
                found.append(each["offset"])
        return found

    def wait_for(self, what: str, holds: Callable[[], bool], seconds: float = TIMEOUT_S) -> None:
        with self._changed:
            if not self._changed.wait_for(holds, seconds):
                shown = [each for each in self.events if each["event"] != "record"][-10:]
                raise AssertionError(f"{self.name}: not {what}: {shown} {''.join(self._errors)}")

    # What it is told

    def command(self, do: str, **arguments: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()

    def commit(self) -> str | None:
        """The error that the commit ended with, or None."""
        before = len(self.of("committed"))
        self.command("commit")
        self.wait_for("committed", lambda: len(self.of("committed")) > before)
        error: str | None = self.of("committed")[-1]["error"]
        return error

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def leave(self) -> None:
        """Leaves the group, unless it is a static member, and ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._end()

    def _end(self) -> None:
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None


def shares(members: Sequence[GroupMember]) -> list[list[int] | None]:
    return [each.assigned for each in members]


def wait_until_shared(
    members: Sequence[GroupMember], partitions: Sequence[int], seconds: float = TIMEOUT_S
) -> None:
    """Each partition belongs to one of the members, and none has more than one above the others."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = [share for share in shares(members) if share is not None]
        sizes = [len(share) for share in found]
        is_complete = sorted(each for share in found for each in share) == sorted(partitions)
        if is_complete and len(found) == len(members) and max(sizes) - min(sizes) <= 1:
            return
        time.sleep(0.02)
    raise AssertionError(f"the partitions are not shared: {shares(members)}")
