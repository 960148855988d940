"""The process of a command: it ends, whatever its threads do, and with the command's exit code."""

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
def test_a_thread_that_never_returns_does_not_keep_the_process(thread: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROCESS.format(thread=thread)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "the last word\n")
