"""What is read from /proc: the dead do not count as living, whatever they are called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from harness.cluster.process_table import is_alive, is_stopped, living_members


def test_one_that_ended_and_was_not_buried_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{ended.pid}").exists()
        assert not is_alive(ended.pid)
        assert not is_stopped(ended.pid)
        assert living_members(ended.pid) == []
    assert not is_alive(ended.pid)


def test_a_name_with_parentheses_and_blanks_hides_nothing(tmp_path: Path) -> None:
    odd = tmp_path / "T) Z (x"
    shutil.copy("/bin/sleep", odd)
    with subprocess.Popen([odd, "600"], start_new_session=True) as process:
        try:
            while f"({odd.name})" not in Path(f"/proc/{process.pid}/stat").read_text():
                time.sleep(0.001)
            assert is_alive(process.pid)
            assert not is_stopped(process.pid)
            assert living_members(process.pid) == [process.pid]
        finally:
            process.kill()


def test_who_never_was_is_neither_alive_nor_stopped() -> None:
    beyond = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert not is_alive(beyond)
    assert not is_stopped(beyond)
