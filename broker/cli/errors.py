"""How a command ends: the exit codes, and the errors that carry them.

CommandError
  EnvironmentFailure   255: a file, a port, a peer is not as it must be
    UnreachableFailure 255: a peer does not answer; it, or another node, may answer later
  FindingError           1: the command did its work and found something wrong
"""

from __future__ import annotations

import errno

_WHAT_TO_TRY = {
    errno.ENOTDIR: "a directory is needed here; move the file away, or correct log.dirs",
    errno.EISDIR: "a file is needed here; move the directory away",
    errno.EACCES: "let the user that runs the broker read and write it",
    errno.EPERM: "let the user that runs the broker read and write it",
    errno.EROFS: "mount it so that it can be written",
    errno.ENOSPC: "make room, then start again",
    errno.EDQUOT: "make room, then start again",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files (ulimit -n)",
    errno.EIO: "the device fails; look at the kernel's log",
}

OK = 0
FOUND = 1
USAGE = 254
CRASH = 255
INTERRUPTED = 130


class CommandError(Exception):
    exit_code = CRASH


class EnvironmentFailure(CommandError):  # noqa: N818
    """Nobody's bug: the message says what is wrong and what to try."""


class UnreachableFailure(EnvironmentFailure):
    """Commands that know other nodes try again. Whether a request was executed is unknown."""


class FindingError(CommandError):
    exit_code = FOUND


def sentence(error: OSError) -> str:
    """What is wrong, with which file, and what to try."""
    what = error.strerror or str(error)
    if error.filename is not None:
        what = f"{error.filename}: {what}"
    hint = _WHAT_TO_TRY.get(error.errno or 0)
    return f"{what}; {hint}" if hint else what
