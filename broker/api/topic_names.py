"""Which names a topic may have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from broker.protocol.errors import ErrorCode, KafkaError

_LENGTH_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+\Z")

CLUSTER_METADATA_TOPIC = "__cluster_metadata"


def check_topic_name(name: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION)."""
    if not name:
        what = "a topic's name must not be empty"
    elif name in (".", ".."):
        what = f"a topic cannot be named {name!r}"
    elif len(name) > _LENGTH_MAX:
        what = f"a topic's name has at most {_LENGTH_MAX} characters, this one {len(name)}"
    elif not _LEGAL.match(name):
        what = f"{name!r} is no topic's name: letters, digits, '.', '_' and '-' are allowed"
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, what)


class TopicNames:
    """Names that exist. Those that differ only by '.' and '_' share metrics' names in Kafka."""

    def __init__(self, existing: Iterable[str]) -> None:
        self._by_folded = {_fold(name): name for name in existing}

    def add(self, name: str) -> None:
        self._by_folded[_fold(name)] = name

    def check_collision(self, name: str) -> None:
        other = self._by_folded.get(_fold(name), name)
        if other != name:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name!r} collides with topic {other!r}"
            )


def _fold(name: str) -> str:
    return name.replace(".", "_")
