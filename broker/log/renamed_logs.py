"""Names of logs that nobody serves any more: deleted ones, and strays that somebody may miss."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"

_LONGEST_NAME = 255
_ENDING = re.compile(rf"\.[0-9a-f]{{32}}({DELETE_SUFFIX}|{STRAY_SUFFIX})$")
_UNCUT = _LONGEST_NAME - len(f".{0:032x}{DELETE_SUFFIX}")


def new_name(name: str, suffix: str, random: Random) -> str:
    ending = f".{random.getrandbits(128):032x}{suffix}"
    return name[: _LONGEST_NAME - len(ending)] + ending


def missing_from(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Which of the logs are not there, under their name or a new one. Of that one only so much
    counts as is left of the longest name."""
    there = {_ENDING.sub("", each)[:_UNCUT] for each in names}
    return [each for each in wanted if each[:_UNCUT] not in there]
