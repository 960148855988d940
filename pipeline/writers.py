"""Processes that write batches of a lake, and whether they may still be running."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_ABANDONED_AFTER: Final = timedelta(days=2)
"""Age at which a writer on another machine, which cannot be asked, counts as dead."""


def this_process() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "since": datetime.now(UTC).isoformat(),
    }


def may_live(writer: Mapping[str, Any]) -> bool:
    host, pid, since = (writer.get(name) for name in ("host", "pid", "since"))
    if not isinstance(pid, int) or not isinstance(since, str) or pid <= 0:
        return False
    if host == socket.gethostname():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:  # a process of another user
            return True
        return True
    try:
        return datetime.now(UTC) - datetime.fromisoformat(since) < _ABANDONED_AFTER
    except (ValueError, TypeError):
        return False
