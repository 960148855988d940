"""Failures of the machine under Spark, as errors that say what to do.

They reach Python as the text of a Java exception inside others, so they are recognised by the
messages of the operating system and of Hadoop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from harness.errors import EnvironmentFailure

_AGAIN: Final = "run the command again, which goes on from there"
_ELSEWHERE: Final = "name another lake with --lake"
_KNOWN: Final = (
    ("No space left on device", f"make room, and {_AGAIN}"),
    ("Disk quota exceeded", f"make room, and {_AGAIN}"),
    ("Read-only file system", _ELSEWHERE),
    ("Permission denied", _ELSEWHERE),
    ("Mkdirs failed to create", _ELSEWHERE),
    ("Parent path is not a directory", _ELSEWHERE),
    ("Not a directory", _ELSEWHERE),
    ("File name too long", _ELSEWHERE),
    ("Java heap space", "give more with --memory"),
    ("The specified bucket does not exist", "create it, or name another lake with --lake"),
    ("No AWS Credentials provided", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ("Connection refused", f"see whether the cluster is there, and {_AGAIN}"),
)
"""What the message says, and what to try."""
_UNREADABLE: Final = re.compile(r"\[FAILED_READ_FILE\.[A-Z_]+\].*?(?:reading file|the file) (\S+)")
_JAVA: Final = re.compile(r"^: [\w.$]+(Exception|Error)\b", re.MULTILINE)
"""An exception of Java's, in the text of Py4J's. Without one, Py4J has lost its process."""
_STORAGE: Final = re.compile(
    r"^: (?!org\.apache\.spark\.|java\.lang\.)[\w.$]+(?:Exception|Error): (.+)", re.MULTILINE
)
"""Of a file system of Hadoop's, which the driver asked itself."""
_DAMAGED: Final = (
    "is damaged, or another command has removed it; run the command again, and if that does not "
    "help, restore the file or ingest into another lake"
)


@contextmanager
def explained(lake_root: str) -> Iterator[None]:
    """Raise EnvironmentFailure for a full disk, a lake that cannot be written to, and so on."""
    try:
        yield
    except EnvironmentFailure:
        raise
    except Exception as error:
        why = _why(error)
        if why is None:
            raise
        raise EnvironmentFailure(f"{lake_root}: {why}") from error


def _why(error: Exception) -> str | None:
    """What is wrong and what to try; None if this looks like a bug of ours."""
    text = f"{error} {getattr(error, 'strerror', '')}"
    damaged = _UNREADABLE.search(text)
    if damaged is not None:
        return f"{damaged[1].rstrip('.')} {_DAMAGED}"
    if type(error).__module__.startswith("py4j") and not _JAVA.search(text):
        return (
            f"the Java process of Spark's driver has ended; give more with --memory, and {_AGAIN}"
        )
    for said, to_try in _KNOWN:
        if said in text:
            return f"{said}; {to_try}"
    storage = _STORAGE.search(text)
    if storage is not None:
        return storage[1]
    if isinstance(error, OSError):
        return str(error)
    return None
