"""Topics out of the bytes that consumers join with, and bytes that are something else."""

from __future__ import annotations

import pytest

from broker.groups.classic.subscription import subscribed_topics

# As kafka-python 3.0 writes them.
SENT = {
    0: b"\0\0\0\0\0\1\0\1a\0\0\0\1x",
    1: b"\0\1\0\0\0\1\0\1a\0\0\0\1x\0\0\0\0",
    2: b"\0\2\0\0\0\1\0\1a\0\0\0\1x\0\0\0\0\xff\xff\xff\xff",
    3: b"\0\3\0\0\0\1\0\1a\0\0\0\1x\0\0\0\0\xff\xff\xff\xff\xff\xff",
}


@pytest.mark.parametrize("version", SENT)
def test_all_versions_begin_with_the_topics(version: int) -> None:
    assert subscribed_topics([SENT[version]]) == frozenset({"a"})


def test_the_topics_of_all_members_count() -> None:
    other = b"\0\3\0\0\0\2\0\3\xc3\xb6l\0\1a" + b"anything that may come later"
    assert subscribed_topics([SENT[0], SENT[0], other]) == frozenset({"a", "öl"})
    assert subscribed_topics([]) == frozenset()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        b"\0\0\0\0\0\2\0\1a",  # two topics, and there is one
        b"\0\0\0\0\0\1\0\5a",  # a topic longer than the bytes
        b"\0\0\0\0\0\1\xff\xff",  # a topic without a name
        b"\0\0\xff\xff\xff\xff",  # no list of topics
        b"\0\0\0\0\0\1\0\1\xff",  # no text
        b"\xff\xff\0\0\0\0",  # no version
        b"\0\0\x7f\xff\xff\xff",  # more topics than there can be
    ],
)
def test_what_cannot_be_read_is_not_known(data: bytes) -> None:
    assert subscribed_topics([b"\0\0\0\0\0\1\0\1a", data]) is None
