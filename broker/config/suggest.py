"""The nearest known name to a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """A question to append to an error message, or nothing."""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {matches[0]}?" if matches else ""
