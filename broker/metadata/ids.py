"""New ids of topics, clusters and directories: random, in the form that Kafka's own have."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from random import Random
from uuid import UUID

ZERO_ID = bytes(16)


def new_id(random: Random) -> bytes:
    while True:
        made = UUID(bytes=random.randbytes(16), version=4).bytes
        # An id whose text begins with a dash would be taken for an option by Kafka's tools.
        if not urlsafe_b64encode(made).startswith(b"-"):
            return made
