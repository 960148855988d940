"""python -m harness, and the command `harness`."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from harness.errors import EXIT_INTERRUPTED
from harness.run.stacks import stacks_to_stderr


def main() -> NoReturn:
    """Until the command line is loaded there is nothing to heal: an interrupt just ends it."""
    stacks_to_stderr()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    from harness.cli import main as command_line
    from harness.cli.exits import end_for_sure

    try:
        command_line(sys.argv[1:])
    except SystemExit as end:
        end_for_sure(end.code)
        raise


if __name__ == "__main__":
    main()
