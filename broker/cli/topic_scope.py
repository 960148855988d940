"""Which partitions an option `--topic T[:P,...]` names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import click

from broker.cli.errors import FindingError
from broker.cli.log_offsets import PartitionName

topic_option = click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:P,...]",
    help="A topic, or some of its partitions, such as orders:0,2; may be given several times.",
)

Wanted = Mapping[str, Collection[int] | None]
"""By topic, its partitions; None for all of them."""


def parse_topics(texts: Iterable[str]) -> Wanted:
    """Raises UsageError. A topic that is named twice is wanted with the partitions of both."""
    wanted: dict[str, set[int] | None] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")  # no name of a topic has a colon
        partitions = _numbers(text, numbers) if colon else None
        if not topic:
            raise click.UsageError(f"--topic {text!r} is not TOPIC[:P,...]")
        before = wanted.get(topic, set())
        wanted[topic] = None if before is None or partitions is None else before | partitions
    return wanted


def _numbers(text: str, numbers: str) -> set[int]:
    found = set()
    for each in numbers.split(","):
        if not (each.isascii() and each.isdigit() and len(each) < 10):
            raise click.UsageError(
                f"--topic {text!r} is not TOPIC[:P,...]: {each!r} is no number of a partition"
            )
        found.add(int(each))
    return found


def partitions_in(wanted: Wanted, existing: Mapping[str, Collection[int]]) -> list[PartitionName]:
    """Sorted. Raises FindingError for a partition that does not exist."""
    found = set()
    for topic, partitions in wanted.items():
        there = existing[topic]
        missing = sorted(set(partitions or ()) - set(there))
        if missing:
            raise FindingError(
                f"topic {topic!r} has {len(there)} partitions, no partition {missing[0]}"
            )
        found |= {
            PartitionName(topic, each) for each in (there if partitions is None else partitions)
        }
    return sorted(found)
