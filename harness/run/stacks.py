"""The stacks of this process on request: `kill -USR1`, whose default action would end it.

Imports little, as it is the first thing that a command does.
"""

from __future__ import annotations

import faulthandler
import signal
import sys


def stacks_to_stderr() -> bool:
    """From now on SIGUSR1 writes the stack of every thread to standard error, if there is one."""
    try:
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    except (AttributeError, OSError, RuntimeError, ValueError):  # closed, or not a file
        return False
    return True
