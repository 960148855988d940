"""A server as a child process: pinned to its CPUs, awaited until ready, stopped by its pid."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


class ServerError(Exception):
    """A server did not start; the message holds what it said."""


def pinned(command: Sequence[str], cpus: frozenset[int]) -> list[str]:
    """On these CPUs only, and never outliving the process that starts it."""
    where = ",".join(map(str, sorted(cpus)))
    return ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", where, *command]


class ServerProcess:
    """Runs a command that prints `ready on host:port` when it accepts connections.

    Nodes of a cluster get ready together: all are started before one is waited for.
    """

    def __init__(self, command: Sequence[str], cpus: frozenset[int]) -> None:
        self._process = subprocess.Popen(
            pinned(command, cpus),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._last_words: list[str] = []
        self._readers: list[threading.Thread] = []
        self._read_by(self._listen)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read_by(self, reads: Callable[[], None]) -> None:
        reader = threading.Thread(target=reads, daemon=True)
        self._readers.append(reader)
        reader.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._last_words = [*self._last_words[-20:], line]

    def _drain(self) -> None:
        # A full pipe would stop the server, so what it goes on to say is read and dropped.
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            pass

    def wait_until_ready(self, timeout_s: float = 30) -> str:
        """Returns the address to connect to."""
        assert self._process.stdout is not None
        stuck = threading.Timer(timeout_s, self._process.kill)
        stuck.start()
        try:
            for line in self._process.stdout:
                if "ready on " in line:
                    self._read_by(self._drain)
                    return line.rpartition("ready on ")[2].split()[0]
        finally:
            stuck.cancel()
        self._process.wait()
        raise ServerError(f"{self._process.args!r} never got ready: {''.join(self._last_words)}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # The pipes have ended with the process, so their readers end by themselves.
        for reader in self._readers:
            reader.join()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
