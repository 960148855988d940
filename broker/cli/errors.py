"""How a command ends: the exit codes, and the errors that carry them.

CommandError
  EnvironmentFailure   255: a file, a port, a peer is not as it must be
  FindingError           1: the command did its work and found something wrong
"""

from __future__ import annotations

OK = 0
FOUND = 1
USAGE = 254
CRASH = 255
INTERRUPTED = 130


class CommandError(Exception):
    exit_code = CRASH


class EnvironmentFailure(CommandError):  # noqa: N818
    """Nobody's bug: the message says what is wrong and what to try."""


class FindingError(CommandError):
    exit_code = FOUND
