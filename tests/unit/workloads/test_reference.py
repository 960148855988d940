"""The page about workloads says what they are."""

from __future__ import annotations

from pathlib import Path

from workloads import WORKLOADS, make_workload
from workloads.base import Load

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "workloads.md"


def told() -> dict[str, list[str]]:
    first_table = PAGE.read_text().partition("\n| name |")[2].partition("\n\n")[0]
    lines = first_table.splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: cells for name, *cells in rows}


def test_every_workload_is_told_with_its_topics_operations_and_checkers() -> None:
    assert list(told()) == list(WORKLOADS)
    for name, (topics, partitions, operations, checkers) in told().items():
        workload = make_workload(name, Load(seed=1, clients=9, topic_configs={}))
        assert topics.split(", ") == [topic.name for topic in workload.topics]
        assert int(partitions) == sum(topic.partitions for topic in workload.topics)
        drawn = {
            workload.operation(client, ordinal).f for client in range(9) for ordinal in range(1000)
        }
        assert set(operations.split(", ")) == drawn
        assert tuple(checkers.split(", ")) == workload.checkers
