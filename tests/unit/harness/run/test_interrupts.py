"""Interrupts: one ends a run in good order, two end it whatever it is doing, always with 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

BEGINNING = """
import asyncio, os, sys, threading
from harness.run import interrupts
from harness.run.interrupts import INTERRUPTS
interrupts.FORCED_AFTER_S = 0.3

def say(word):
    os.write(1, f"{word}\\n".encode())

INTERRUPTS.install()
try:
    with INTERRUPTS.healed_by(lambda: say("healed by force")):
        INTERRUPTS.run(main())
except KeyboardInterrupt as interrupt:
    say(f"interrupted, {interrupt.__cause__!r}")
    sys.exit(130)
say("ended")
"""

ENDS_WELL = """
async def main():
    say("up")
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.01)
        say("healed")
"""

FAILS_TO_HEAL = """
async def main():
    say("up")
    try:
        await asyncio.sleep(60)
    finally:
        raise OSError("a disk")
"""

HEALS_FOR_EVER = """
async def main():
    say("up")
    try:
        await asyncio.sleep(60)
    finally:
        say("healing")
        await asyncio.sleep(60)
"""

STANDS_STILL = """
async def main():
    # As the lock of a buffer that another thread reads into: no signal wakes who waits for it.
    reading, _ = os.pipe()
    pipe = open(reading, "rb")
    threading.Thread(target=pipe.readline, daemon=True).start()
    await asyncio.sleep(0.1)
    say("up")
    pipe.close()
"""

TAKES_NO_NOTICE = """
async def main():
    say("up")
    for _ in range(100):
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass
"""


ENDS_SLOWLY = """
import time

async def main():
    say("up")
    await asyncio.sleep(60)

class Late:
    def __del__(self):
        self.say("ending")
        self.sleep(0.3)
        self.say("gone")

late = Late()
# Modules are empty when the last objects go, long after signals are the kernel's again.
Late.say = staticmethod(lambda word, write=__import__("os").write: write(1, f"{word}\\n".encode()))
Late.sleep = staticmethod(time.sleep)
sys = __import__("sys")
sys.late, late = late, None
"""

LEAVES_A_THREAD_BEHIND = """
async def main():
    # As one that waits for a broken disk: only its await can be given up.
    waiting = asyncio.to_thread(threading.Event().wait)
    try:
        async with asyncio.timeout(0.1):
            await waiting
    except TimeoutError:
        say("up")
"""

IS_OVER = """
import os, sys, time
from harness.run import interrupts
from harness.run.interrupts import INTERRUPTS
interrupts.FORCED_AFTER_S = 0.1
INTERRUPTS.install()
INTERRUPTS.is_over()
print("up", flush=True)
for number in range(3):
    while INTERRUPTS.count == number:
        time.sleep(0.01)
    print(INTERRUPTS.count, flush=True)
time.sleep(0.5)  # as long as a forced end would take
sys.exit(7)
"""

THREE_COMMANDS = """
import sys, time
from harness.run import interrupts
from harness.run.interrupts import INTERRUPTS
interrupts.FORCED_AFTER_S = 0.1
for _ in range(3):
    INTERRUPTS.install()
    try:
        print("up", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        time.sleep(0.3)  # as long as a forced end would take
sys.exit(7)
"""

LOADS_SLOWLY = """
import builtins, runpy, sys, time
load = __import__

def slowly(name, *rest, **named):
    if name == "click":
        print("up", flush=True)
        time.sleep(60)
    return load(name, *rest, **named)

builtins.__import__ = slowly
sys.argv = ["harness", "ls"]
runpy.run_module("harness", run_name="__main__")
"""


@contextmanager
def running(script: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        # Tests that run in the background have SIGINT ignored, and children inherit that.
        ["env", "--default-signal=INT", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate(timeout=30)
    return out.splitlines()


@pytest.mark.parametrize(
    ("story", "words"),
    [
        (ENDS_WELL, ["healed", "interrupted, None"]),
        (FAILS_TO_HEAL, ["interrupted, OSError('a disk')"]),
        (TAKES_NO_NOTICE, ["interrupted, None"]),
    ],
)
def test_one_interrupt_cancels_and_ends_with_130(story: str, words: list[str]) -> None:
    with running(story + BEGINNING) as process:
        process.send_signal(signal.SIGINT)
        assert said(process) == words
        assert process.returncode == 130


def test_a_second_interrupt_ends_a_healing_that_does_not_end() -> None:
    with running(HEALS_FOR_EVER + BEGINNING) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "healing\n"
        process.send_signal(signal.SIGINT)
        assert said(process) == ["healed by force", "interrupted twice: ended by force"]
        assert process.returncode == 130


def test_a_second_interrupt_ends_a_loop_that_stands_still() -> None:
    with running(STANDS_STILL + BEGINNING) as process:
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.1)
        assert said(process) == ["healed by force", "interrupted twice: ended by force"]
        assert process.returncode == 130


def test_a_second_interrupt_while_the_interpreter_ends_changes_nothing() -> None:
    with running(ENDS_SLOWLY + BEGINNING) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        while process.stdout.readline() != "ending\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert said(process) == ["gone"]
        assert process.returncode == 130


def test_interrupts_after_the_end_of_a_command_change_nothing() -> None:
    with running(IS_OVER) as process:
        assert process.stdout is not None
        for count in ("1", "2", "3"):
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == f"{count}\n"
        assert said(process) == []
        assert process.returncode == 7


def test_each_command_of_a_process_begins_to_count_anew() -> None:
    with running(THREE_COMMANDS) as process:
        assert process.stdout is not None
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert said(process) == []
        assert process.returncode == 7


def test_a_thread_that_never_returns_does_not_hold_up_the_end_of_a_run() -> None:
    with running(LEAVES_A_THREAD_BEHIND + BEGINNING) as process:
        assert process.stdout is not None
        begun_s = time.monotonic()
        assert process.stdout.readline() == "ended\n"
        assert time.monotonic() - begun_s < 10


def test_a_command_that_is_still_loading_ends_with_130() -> None:
    with running(LOADS_SLOWLY) as process:
        process.send_signal(signal.SIGINT)
        assert said(process) == []
        assert process.returncode == 130
