"""Exit codes of the command line. Only a verdict may exit 0, 1 or 2."""

from __future__ import annotations

import os
import sys
import threading
from typing import Final

from harness.errors import EnvironmentFailure, UsageFailure

EXIT_USAGE = 254
EXIT_CRASH = 255
EXIT_INTERRUPTED = 130


def exit_code_of(failure: EnvironmentFailure) -> int:
    return EXIT_USAGE if isinstance(failure, UsageFailure) else EXIT_CRASH


_GONE_WITHIN_S: Final = 10.0
_last_code = 0


def end_for_sure(code: int) -> None:
    """Ends the process with this code, should a thread keep the interpreter from its own end.

    A thread that waits for a broken disk may never come back, and Python waits for all of them.
    """
    global _last_code
    _last_code = code
    if all(thread.name != end_for_sure.__name__ for thread in threading.enumerate()):
        name = end_for_sure.__name__
        threading.Thread(target=_end_after_the_main_thread, name=name, daemon=True).start()


def _end_after_the_main_thread() -> None:
    # Over once the interpreter has begun to end, but before it waits for the other threads.
    threading.main_thread().join()
    threading.Event().wait(_GONE_WITHIN_S)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_last_code)
