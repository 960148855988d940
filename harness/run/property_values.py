"""Values of properties, read as Kafka's brokers read them: trimmed, booleans in any case."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"[-+]?[0-9]{1,19}")


def whole_number(text: str) -> int:
    """ValueError for what no broker takes: int() alone would pass `1_0` and other digits."""
    if _WHOLE.fullmatch(text.strip()) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def is_true(text: str) -> bool:
    """Whether a broker takes it for true; what it would refuse is false."""
    return text.strip().lower() == "true"
