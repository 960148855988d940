"""`--topic T[:P,...]`: which partitions it names, and what is none."""

from __future__ import annotations

import click
import pytest

from broker.cli.errors import FindingError
from broker.cli.log_offsets import PartitionName
from broker.cli.topic_scope import parse_topics, partitions_in

THERE = {"t": [0, 1, 2], "u": [0]}


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["t"], ["t-0", "t-1", "t-2"]),
        (["t:2,0"], ["t-0", "t-2"]),
        (["t:1", "u", "t:0"], ["t-0", "t-1", "u-0"]),
        (["t:1", "t"], ["t-0", "t-1", "t-2"]),
        (["t", "t:1"], ["t-0", "t-1", "t-2"]),
    ],
)
def test_topics_and_partitions_are_named(texts: list[str], names: list[str]) -> None:
    found: list[PartitionName] = partitions_in(parse_topics(texts), THERE)
    assert [str(each) for each in found] == names


@pytest.mark.parametrize("text", ["", ":1", "t:", "t:1,", "t:-1", "t:x", "t:1:2", "t:²"])
def test_what_names_no_partition_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="is not TOPIC"):
        parse_topics([text])


def test_a_partition_that_does_not_exist_is_named() -> None:
    with pytest.raises(FindingError, match="topic 't' has 3 partitions, no partition 7"):
        partitions_in(parse_topics(["t:0,7"]), THERE)
