"""Failures of the machine under Spark, as errors that say what to do.

They reach Python as the text of a Java exception inside others, so they are recognised by the
messages of the operating system and of Hadoop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from harness.errors import EnvironmentFailure

_AGAIN: Final = "run the command again, which goes on from there"
_KNOWN: Final = (
    ("No space left on device", f"make room, and {_AGAIN}"),
    ("Disk quota exceeded", f"make room, and {_AGAIN}"),
    ("Read-only file system", "name another directory with --lake"),
    ("Permission denied", "name another directory with --lake"),
    ("Mkdirs failed to create", "name another directory with --lake"),
    ("Java heap space", "give more with --memory"),
    ("Connection refused", f"see whether the cluster is there, and {_AGAIN}"),
)
"""What the message says, and what to try."""


@contextmanager
def explained(lake_root: str) -> Iterator[None]:
    """Raise EnvironmentFailure for a full disk, a lake that cannot be written to, and so on."""
    try:
        yield
    except EnvironmentFailure:
        raise
    except Exception as error:
        text = f"{error} {getattr(error, 'strerror', '')}"
        for said, to_try in _KNOWN:
            if said in text:
                raise EnvironmentFailure(f"{lake_root}: {said}; {to_try}") from error
        raise
