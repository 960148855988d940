"""What the operating system says about this process, and what it lets it have."""

from __future__ import annotations

import fcntl
import os
import resource
from pathlib import Path
from typing import IO

from broker.cli.errors import EnvironmentFailure
from broker.observe.metrics import ProcessFigures

_OTHER_FILES_MIN = 64
_PAGE = os.sysconf("SC_PAGE_SIZE")


def process_figures() -> ProcessFigures:
    """Linux only; zeros elsewhere."""
    times = os.times()
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    except OSError:
        pages = files = 0
    return ProcessFigures(pages * _PAGE, times.user + times.system, files)


def raise_file_limit() -> int:
    """To what the hard limit allows: each connection and each segment is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def segments_to_keep_open(file_limit: int) -> int | None:
    """A quarter of all files, at least 64, are for connections and for what is opened briefly."""
    if file_limit == resource.RLIM_INFINITY:
        return None
    return file_limit - max(_OTHER_FILES_MIN, file_limit // 4)


def lock_directory(path: str) -> IO[bytes]:
    """Held until closed: two brokers in one directory would destroy each other's logs."""
    try:
        handle = (Path(path) / ".lock").open("ab")
    except OSError as error:
        raise EnvironmentFailure(f"cannot write in {path}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise EnvironmentFailure(
            f"{path} is in use by another broker; stop it, or give this one its own log.dirs"
        ) from None
    return handle


def boot_id() -> str:
    """The kernel draws another one at each start of the system; empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
