"""Exit codes of the command line. Only a verdict may exit 0, 1 or 2."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import Final

from harness.errors import EnvironmentFailure, UsageFailure

EXIT_USAGE = 254
EXIT_CRASH = 255


def exit_code_of(failure: EnvironmentFailure) -> int:
    return EXIT_USAGE if isinstance(failure, UsageFailure) else EXIT_CRASH


def with_notes(failure: EnvironmentFailure) -> str:
    """Its sentence, and below it what was noted on its way up, as the command that has it again."""
    return "\n".join([str(failure), *getattr(failure, "__notes__", ())])


_GONE_WITHIN_S: Final = 10.0


def end_for_sure(code: int | str | None) -> None:
    """Ends the process with this code, should a thread keep the interpreter from its own end.

    A thread that waits for a broken disk may never come back, and Python waits for all of them. The
    time counts from now, so only for a process that has nothing left to do.
    """
    timer = threading.Timer(_GONE_WITHIN_S, _end, [_number_of(code)])
    timer.daemon = True
    timer.start()


def _number_of(code: int | str | None) -> int:
    """What Python makes of a SystemExit: nothing is success, and a sentence is none."""
    if code is None:
        return 0
    return code if isinstance(code, int) else 1


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or read by nobody any more
            stream.flush()
    os._exit(code)
