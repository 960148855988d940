"""Does one huge request keep the broker from its other clients, or eat its memory?

    python tests/fuzz/huge_counts.py                       every API, every version, every array
    python tests/fuzz/huge_counts.py --quick               the first and the last version of each
    python tests/fuzz/huge_counts.py --api METADATA --api FETCH
    python tests/fuzz/huge_counts.py --quick --fresh       a broker of its own for each served frame

Starts a real broker, sends it frames with huge counts (tests/fuzz/huge_frames.py), and measures
meanwhile, on another connection, how long ApiVersions takes, and how much memory the broker takes
at its peak. Exits with 1 when a request delays the others by more than 100 ms (99th percentile),
or takes more than 10 times its size in memory; a request below 4 MiB may take 10 times 4 MiB.

The bound of small requests is one of elements, not of bytes. 100,000 elements are served, and on
the wire the shortest ones take one byte each: 0.1 MB. As an object an element takes some 60 to 200
bytes, and its answer, mostly an error entry that is longer than the element, as much again: up to
370 bytes for each element, 37 MB for a request. Only 10 times 0.1 MB would be less than the
answer alone (FindCoordinator: 2.3 MB).

Memory that an earlier request left to the allocator is used again and does not show. --fresh gives
each served frame a broker of its own, in which one refused frame has filled the buffers that the
broker keeps for all its connections (at most 16 MB).

Time is measured twice: by the clock, and by the broker's own work between question and answer
(the kernel's account of its main thread). The second is what is judged unless --wall is given. It
grows on a slow machine, and on one whose cores are shared, so the bar is that of a machine on which
a fixed piece of work takes 26 ms, and grows with the time that this work takes meanwhile.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from broker.api.controller_table import CONTROLLER_TABLE
from broker.api.table import API_TABLE
from broker.protocol.apis import ApiKey
from tests.fuzz.huge_frames import TOPIC, HugeFrame, Kind, huge_frames

DELAY_BAR_MS = 100.0
_USUAL_WORK_MS = 26.0
"""Time of `_fixed_work_ms` on the machine that the bar is for."""
MEMORY_BAR = 10.0
SMALL_FRAME_BYTES = 4 << 20
"""A request below this size may take as much memory as one of this size: see above."""
FRAME_BYTES = 8 << 20
PRODUCE_FRAME_BYTES = 100 << 20
_ANSWER_S = 120.0
_PROBE_EVERY_S = 0.001
_API_VERSIONS = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1)


@dataclass(frozen=True, slots=True)
class Outcome:
    sent: HugeFrame
    answer: str
    seconds: float
    walls_ms: Sequence[float]
    works_ms: Sequence[float]
    grown_bytes: int
    slowness: float = 1.0
    """How much longer this machine took for a fixed piece of work, before and after."""

    @property
    def memory_ratio(self) -> float:
        return self.grown_bytes / max(len(self.sent.frame), SMALL_FRAME_BYTES)

    def problems(self, *, by_wall: bool) -> Iterator[str]:
        delay = _percentile(self.walls_ms if by_wall else self.works_ms, 0.99)
        if delay > DELAY_BAR_MS * (1.0 if by_wall else self.slowness):
            yield f"delays ApiVersions by {delay:.0f} ms"
        if self.memory_ratio > MEMORY_BAR:
            yield f"takes {self.grown_bytes / 1e6:.0f} MB for {len(self.sent.frame) / 1e6:.1f} MB"
        if self.answer == "silence":
            yield f"is not answered within {_ANSWER_S:.0f} s"
        if self.sent.is_served and self.answer == "closed":
            yield "is refused"


class RunningBroker:
    """One node with two listeners, as a child process."""

    def __init__(self, home: Path) -> None:
        ports = _free_ports(2)
        self.ports = {"broker": ports[0], "controller": ports[1]}
        config = home / "server.properties"
        config.write_text(
            "node.id=1\nprocess.roles=broker,controller\n"
            f"listeners=PLAINTEXT://127.0.0.1:{ports[0]},CONTROLLER://127.0.0.1:{ports[1]}\n"
            "controller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters=1@127.0.0.1:{ports[1]}\n"
            f"log.dirs={home / 'logs'}\nauto.create.topics.enable=false\n"
            "max.connections.per.ip=1000\n"
        )
        command = [sys.executable, "-m", "broker"]
        root = Path(__file__).parents[2]
        arguments = ["--config", str(config)]
        subprocess.run([*command, "format", *arguments], check=True, cwd=root, capture_output=True)
        self.log = (home / "broker.log").open("wb")
        self._process = subprocess.Popen(
            # A fuzz that is killed leaves no broker behind.
            ["setpriv", "--pdeathsig", "KILL", *command, "start", *arguments],
            cwd=root,
            stdout=self.log,
            stderr=self.log,
        )
        self.pid = self._process.pid
        for port in ports:
            self._wait_for(port)
        create = ["topics", "create", TOPIC, "--bootstrap", f"127.0.0.1:{ports[0]}"]
        subprocess.run([*command, *create], check=True, cwd=root, capture_output=True)

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError), connected(port, 10) as sock:
                sock.sendall(_API_VERSIONS)
                if sock.recv(4):
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"the broker did not start; see {self.log.name}")

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.log.close()

    def status_bytes(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
        raise KeyError(name)

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def worked_ms(self) -> float:
        """What its main thread has worked so far."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e6


class Probe:
    """Asks for ApiVersions again and again, on a connection of its own."""

    def __init__(self, broker: RunningBroker, port: int) -> None:
        self._broker = broker
        self._port = port
        self.walls_ms: list[float] = []
        self.works_ms: list[float] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        with connected(self._port, _ANSWER_S) as sock:
            while True:
                worked, began = self._broker.worked_ms(), time.monotonic()
                sock.sendall(_API_VERSIONS)
                answer = sock.recv(1 << 16)
                (length,) = struct.unpack_from(">i", answer)
                have = len(answer)
                while have < length + 4:
                    have += len(sock.recv(1 << 16))
                self.walls_ms.append((time.monotonic() - began) * 1000)
                self.works_ms.append(self._broker.worked_ms() - worked)
                if self._is_over.wait(_PROBE_EVERY_S):
                    return


def send(broker: RunningBroker, port: int, sent: HugeFrame) -> Outcome:
    before = broker.status_bytes("VmRSS")
    work_ms = _fixed_work_ms()
    broker.forget_peak()
    began = time.monotonic()
    with Probe(broker, port) as probe:
        answer = _answer_to(port, sent.frame)
    seconds = time.monotonic() - began
    grown = broker.status_bytes("VmHWM") - before
    slowness = max(1.0, (work_ms + _fixed_work_ms()) / 2 / _USUAL_WORK_MS)
    times = (probe.walls_ms, probe.works_ms)
    return Outcome(sent, answer, seconds, *times, max(0, grown), slowness)


def _fixed_work_ms() -> float:
    """Objects made and dropped, as by a broker that reads a request."""
    began = time.thread_time()
    kept: dict[int, tuple[int, str]] = {}
    for number in range(200_000):
        kept[number & 1023] = (number, str(number))
    return (time.thread_time() - began) * 1e3


def _answer_to(port: int, frame: bytes) -> str:
    with connected(port, _ANSWER_S) as sock:
        try:
            sock.sendall(frame)
            head = _read(sock, 4)
            if len(head) < 4:
                return "closed"
            (left,) = struct.unpack(">i", head)
            size = left
            while left:
                count = len(sock.recv(min(left, 1 << 20)))
                if not count:
                    return "closed"
                left -= count
        except TimeoutError:
            return "silence"
        except (BrokenPipeError, ConnectionResetError):
            return "closed"
        return f"{size / 1e6:.1f} MB"


def _read(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := sock.recv(size - len(data))):
        data += more
    return data


@contextmanager
def connected(port: int, timeout_s: float) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield sock


@contextmanager
def running_broker() -> Iterator[RunningBroker]:
    home = Path(tempfile.mkdtemp(prefix="huge-counts-"))
    try:
        broker = RunningBroker(home)
        try:
            yield broker
        finally:
            broker.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    socks = [socket.socket() for _ in range(count)]
    try:
        for sock in socks:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in socks]
    finally:
        for sock in socks:
            sock.close()


def _percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


_COLUMNS = (
    f"{'request':34} {'array':34} {'kind':6} {'MB':>6} {'answer':>9} {'s':>5}"
    f" {'p50 ms':>7} {'p99':>6} {'max':>6} {'worked p99':>10} {'max':>6} {'RSS MB':>7} {'x':>5}"
)


def _row(seen: Outcome) -> str:
    sent = seen.sent
    return (
        f"{sent.name + ' v' + str(sent.version):34.34} {sent.array:34.34} {sent.kind.name:6}"
        f" {len(sent.frame) / 1e6:6.1f} {seen.answer:>9} {seen.seconds:5.1f}"
        f" {_percentile(seen.walls_ms, 0.5):7.1f} {_percentile(seen.walls_ms, 0.99):6.0f}"
        f" {max(seen.walls_ms):6.0f} {_percentile(seen.works_ms, 0.99):10.0f}"
        f" {max(seen.works_ms):6.0f} {seen.grown_bytes / 1e6:7.1f} {seen.memory_ratio:5.1f}"
    )


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def cases(apis: Sequence[str], *, quick: bool) -> Iterator[tuple[str, ApiKey, list[int]]]:
    """Listener, API and versions."""
    for listener, table in (("broker", API_TABLE), ("controller", CONTROLLER_TABLE)):
        for key, api in table.items():
            if apis and ApiKey(key).name not in apis:
                continue
            versions = list(range(api.version_min, api.version_max + 1))
            yield listener, ApiKey(key), sorted({versions[0], versions[-1]}) if quick else versions


def run(apis: Sequence[str], *, quick: bool, by_wall: bool, fresh: bool = False) -> int:
    """How many requests exceeded a bar."""
    failed = count = 0
    say(_COLUMNS)
    for listener, key, versions in cases(apis, quick=quick):
        size = PRODUCE_FRAME_BYTES if key is ApiKey.PRODUCE else FRAME_BYTES
        frames = [sent for version in versions for sent in huge_frames(key, version, size)]
        for seen in _sent_alone(listener, frames) if fresh else _sent(listener, frames):
            problems = list(seen.problems(by_wall=by_wall))
            count += 1
            failed += bool(problems)
            say(_row(seen) + ("   <-- " + "; ".join(problems) if problems else ""))
    say(f"{count} requests, {failed} beyond a bar")
    return failed


def _sent(listener: str, frames: Sequence[HugeFrame]) -> Iterator[Outcome]:
    with running_broker() as broker:
        for sent in frames:
            yield send(broker, broker.ports[listener], sent)


def _sent_alone(listener: str, frames: Sequence[HugeFrame]) -> Iterator[Outcome]:
    """The served ones only."""
    for sent in frames:
        if sent.is_served:
            refused = next(each for each in frames if each.kind is Kind.FILL)
            with running_broker() as broker:
                send(broker, broker.ports[listener], refused)
                yield send(broker, broker.ports[listener], sent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="the first and last version only")
    parser.add_argument("--api", action="append", default=[], help="e.g. METADATA; repeatable")
    parser.add_argument("--wall", action="store_true", help="judge by the clock (quiet machine)")
    parser.add_argument("--fresh", action="store_true", help="a new broker for each served frame")
    given = parser.parse_args()
    unknown = [name for name in given.api if name not in ApiKey.__members__]
    if unknown:
        parser.error(f"no API is named {unknown[0]}; try METADATA")
    failed = run(given.api, quick=given.quick, by_wall=given.wall, fresh=given.fresh)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
