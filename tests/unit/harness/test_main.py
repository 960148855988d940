"""The process of a command: its stacks can be had at any time, and it ends whatever threads do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PROCESS = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from harness import cli
from harness.cli import exits
exits._GONE_WITHIN_S = 0.2

def command(argv):
    {thread}
    print("the last word")
    {more}
    sys.exit(2)

cli.main = command
from harness.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "thread",
    [
        "threading.Thread(target=threading.Event().wait).start()",
        # Python waits for the threads of a pool before it calls its main thread over.
        "ThreadPoolExecutor(1).submit(threading.Event().wait)",
    ],
)
@pytest.mark.parametrize("more", ["", "sys.stdout.flush(); sys.stderr = None"])
def test_a_thread_that_never_returns_does_not_keep_the_process(thread: str, more: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROCESS.format(thread=thread, more=more)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "the last word\n")


ASKED = """
import atexit, os, signal, sys
from pathlib import Path
from harness import cli
from harness.run.watchdog import stacks_on_request

def asked():
    os.kill(os.getpid(), signal.SIGUSR1)

def command(argv):
    asked()
    with stacks_on_request(Path(argv[0])):
        asked()
    asked()
    atexit.register(asked)
    sys.exit(2)

cli.main = command
from harness.__main__ import main
main()
"""


def test_a_signal_asks_for_the_stacks_before_in_and_after_a_run(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.count(" in asked\n") == 3, ended.stderr
    assert (tmp_path / "harness.log").read_text().count(" in asked\n") == 1


def test_a_command_without_an_error_stream_works_all_the_same() -> None:
    command = [sys.executable, "-m", "harness", "nemeses"]
    script = 'exec "$@" 2>&-'
    subprocess.run(["sh", "-c", script, "sh", *command], cwd=ROOT, timeout=30, check=True)
