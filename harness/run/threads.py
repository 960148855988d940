"""Threads for calls of a run that block, none of which can keep the run from its end.

A bound on an await gives up the await, not the thread: that goes on until its call returns, which
never happens where a disk is broken. asyncio joins the threads of a loop that is closed, without
limit before Python 3.12, so a run brings threads of its own, which are joined for a moment only.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

_COUNT = 64
"""The default is as few as six, and any of them may wait for a broken disk."""
_JOINED_WITHIN_S = 1.0
"""Long enough for a call that works, so that none writes on into a run that is being judged."""


class RunThreads(ThreadPoolExecutor):
    """A pool, as asyncio demands of a default executor, whose `shutdown` waits a second at most.

    Python waits for what is left of it when it ends; `harness.cli.exits.end_for_sure` bounds that.
    """

    def __init__(self) -> None:
        super().__init__(_COUNT, thread_name_prefix="run")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)
        if wait:
            joining = threading.Thread(target=super().shutdown, name="join run", daemon=True)
            joining.start()
            joining.join(_JOINED_WITHIN_S)
