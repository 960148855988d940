"""Incremental fetches (KIP-227) name only what has changed; this remembers the rest.

Without it a fault for a partition would never find the fetches that go on reading it in silence.
"""

from __future__ import annotations

from typing import Any

from harness.wire.names import Topics, names_in_request

FIRST_VERSION = 7
_NEW_SESSION = 0
_FIRST_VERSION_BY_ID = 13

SESSIONS_MAX = 100
"""Of one connection. A client has one, but may leave old ones behind."""


class FetchSessions:
    """Of one connection. The topics it hands out are never changed afterwards."""

    def __init__(self) -> None:
        self._topics: dict[int, Topics] = {}

    def asked(self, api_key: int, version: int, body: Any) -> Topics | None:
        """What the whole session reads from now on; None when the request says it all itself."""
        if body.session_epoch <= _NEW_SESSION:
            self._topics.pop(body.session_id, None)
            return None
        known = self._topics.get(body.session_id)
        if known is None:
            return None  # begun before we listened
        named = names_in_request(api_key, version, body).topics
        topics = _without(_with(known, named), version, body.forgotten_topics_data)
        self._topics[body.session_id] = topics
        return topics

    def answered(self, api_key: int, version: int, body: Any, session_id: int) -> None:
        """`body` is of a request for a new session, and this is the id it got; 0 for none."""
        if session_id > 0:
            self._topics[session_id] = names_in_request(api_key, version, body).topics
            if len(self._topics) > SESSIONS_MAX:
                del self._topics[next(iter(self._topics))]


def begins_session(body: Any) -> bool:
    return bool(body.session_epoch == _NEW_SESSION)


def _with(known: Topics, named: Topics) -> Topics:
    if all(partitions <= known.get(topic, set()) for topic, partitions in named.items()):
        return known
    return known | {
        topic: known.get(topic, set()) | partitions for topic, partitions in named.items()
    }


def _without(known: Topics, version: int, forgotten: list[Any]) -> Topics:
    if not forgotten:
        return known
    left = dict(known)
    for each in forgotten:
        topic = each.topic_id if version >= _FIRST_VERSION_BY_ID else each.topic
        partitions = left.pop(topic, set()) - set(each.partitions)
        if partitions:
            left[topic] = partitions
    return left
