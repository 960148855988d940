"""New ids of topics, clusters, directories and members: random, in the form of Kafka's own."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from random import Random

ZERO_ID = bytes(16)


def new_id(random: Random) -> bytes:
    """A UUID of version 4."""
    while True:
        made = bytearray(random.randbytes(16))
        made[6] = made[6] & 0x0F | 0x40
        made[8] = made[8] & 0x3F | 0x80
        # An id whose text begins with a dash would be taken for an option by Kafka's tools.
        if not urlsafe_b64encode(made).startswith(b"-"):
            return bytes(made)


def new_uuid_text(random: Random) -> str:
    """A UUID of version 4 as Java writes it: 36 characters, with dashes."""
    digits = new_id(random).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
