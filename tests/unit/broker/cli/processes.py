"""Brokers as processes of their own, for tests of what their users see."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BROKER = str(Path(sys.executable).with_name("broker"))
PATIENCE_S = 30


@contextmanager
def launched(home: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A broker that may not be ready for long, or never; what it logs is in `home`/stderr."""
    with (home / "stderr").open("w") as errors:
        process = subprocess.Popen(
            [_BROKER, "start", "--config", str(home / "server.properties"), *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def started(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with launched(home, *options) as process:
        yield process, address_of(process, home)


def address_of(process: subprocess.Popen[str], home: Path) -> str:
    """Waits until it is ready."""
    assert process.stdout is not None
    ready = process.stdout.readline()
    assert ready.startswith("ready on "), (home / "stderr").read_text()
    return ready.removeprefix("ready on ").strip()


def end(process: subprocess.Popen[str], number: signal.Signals) -> int:
    process.send_signal(number)
    return process.wait(timeout=PATIENCE_S)


def wait_for_log(home: Path, text: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while text not in (home / "stderr").read_text():
        assert time.monotonic() < until, (home / "stderr").read_text()
        time.sleep(0.02)


def last_words(home: Path) -> str:
    """What a process that has ended told its user, after all that it logged."""
    lines = (home / "stderr").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("{"))


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
