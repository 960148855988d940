"""One sample: a client process carries a load while the server's CPU time is watched."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import psutil

from bench.free_memory import Ballast
from bench.systems import ROOT, System
from bench.systems.server_process import pinned

# From this share of its core on, the client is what limits the figure.
CLIENT_BOUND_SHARE = 0.9


class LoadError(Exception):
    """A load could not be carried; the message says which and what the client said."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    messages: int
    bytes: int
    seconds: float
    server_cpu_s: float
    client_cpu_s: float
    p50_us: float = 0.0
    p99_us: float = 0.0
    stored_bytes: int = 0
    server_rss_bytes: int = 0

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.seconds

    @property
    def server_us_per_message(self) -> float:
        return self.server_cpu_s * 1e6 / max(1, self.messages)

    @property
    def client_share(self) -> float:
        return self.client_cpu_s / self.seconds


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The median of the rounds, and how far the rounds lie apart."""

    messages_per_s: float
    mb_per_s: float
    server_us_per_message: float
    client_share: float
    p50_us: float
    p99_us: float
    stored_ratio: float
    server_rss_mb: float
    spread: dict[str, float]

    @property
    def client_bound(self) -> bool:
        return self.client_share >= CLIENT_BOUND_SHARE


def figures(samples: Sequence[Sample]) -> Figures:
    def median(values: Sequence[float]) -> float:
        return statistics.median(values)

    def spread(values: Sequence[float]) -> float:
        """Half the distance between the extremes, as a share of the median."""
        middle = median(values)
        return (max(values) - min(values)) / 2 / middle if middle else 0.0

    judged = {
        "messages_per_s": [sample.messages_per_s for sample in samples],
        "server_us_per_message": [sample.server_us_per_message for sample in samples],
        "p50_us": [sample.p50_us for sample in samples],
        "p99_us": [sample.p99_us for sample in samples],
    }
    return Figures(
        messages_per_s=median(judged["messages_per_s"]),
        mb_per_s=median([sample.bytes / sample.seconds / 1e6 for sample in samples]),
        server_us_per_message=median(judged["server_us_per_message"]),
        client_share=median([sample.client_share for sample in samples]),
        p50_us=median(judged["p50_us"]),
        p99_us=median(judged["p99_us"]),
        stored_ratio=median([sample.stored_bytes / max(1, sample.bytes) for sample in samples]),
        server_rss_mb=median([sample.server_rss_bytes / 1e6 for sample in samples]),
        spread={name: spread(values) for name, values in judged.items()},
    )


class Worker:
    """A client process that is ready and waits for the word."""

    def __init__(self, load: dict[str, Any], cpus: frozenset[int]) -> None:
        self._load = load
        self._process = subprocess.Popen(
            pinned([sys.executable, "-m", "bench.loads.worker", json.dumps(load)], cpus),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._expect("ready")

    def go(self) -> None:
        stdin = self._pipe(self._process.stdin)
        stdin.write("go\n")
        stdin.flush()

    def result(self) -> dict[str, float]:
        answer: dict[str, float] = json.loads(self._expect("{"))
        return answer

    def _expect(self, start: str) -> str:
        line = self._pipe(self._process.stdout).readline()
        if not line.startswith(start):
            said = self._pipe(self._process.stderr).read()[-1500:]
            raise LoadError(f"the load {self._load} failed: {line}{said}")
        return line

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            self._pipe(pipe).close()


@contextmanager
def worker(load: dict[str, Any], cpus: frozenset[int]) -> Iterator[Worker]:
    opened = Worker(load, cpus)
    try:
        yield opened
    finally:
        opened.close()


def cpu_s(pids: Sequence[int]) -> float:
    """User and system time of all threads of all these processes."""
    used = [psutil.Process(pid).cpu_times() for pid in pids]
    return float(sum(one.user + one.system for one in used))


def rss_bytes(pids: Sequence[int]) -> int:
    return sum(int(psutil.Process(pid).memory_info().rss) for pid in pids)


def sample(
    system: System, load: dict[str, Any], cpus: frozenset[int], ballast: Ballast | None = None
) -> Sample:
    """`ballast` is freed for the system to write to."""
    with worker({**load, "bootstrap": system.bootstrap}, cpus) as client:
        if ballast is not None:
            ballast.free()
        before_s = cpu_s(system.pids)
        client.go()
        result = client.result()
        used_s = cpu_s(system.pids) - before_s
    return Sample(
        messages=int(result["messages"]),
        bytes=int(result["bytes"]),
        seconds=result["seconds"],
        server_cpu_s=used_s,
        client_cpu_s=result["client_cpu_s"],
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        server_rss_bytes=rss_bytes(system.pids),
    )
