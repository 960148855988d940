"""What kcat says of a cluster, beyond producing and reading."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import TIMEOUT_S

pytestmark = pytest.mark.clients


def test_kcat_lists_the_cluster_its_topics_and_partitions(
    bootstrap: str, create_topic: CreateTopic
) -> None:
    topic = create_topic(partitions=3)
    command = ["kcat", "-b", bootstrap, "-L", "-J"]
    done = subprocess.run(command, check=True, timeout=TIMEOUT_S, capture_output=True)
    listed = json.loads(done.stdout)
    assert listed["brokers"] == [{"id": 1, "name": bootstrap}]
    (described,) = [one for one in listed["topics"] if one["topic"] == topic]
    assert [one["partition"] for one in described["partitions"]] == [0, 1, 2]
    assert {one["leader"] for one in described["partitions"]} == {1}


def test_kcat_is_told_of_a_topic_that_is_not_there(bootstrap: str) -> None:
    command = ["kcat", "-b", bootstrap, "-C", "-t", "nobody-made-this", "-p", "0", "-e"]
    command += ["-X", "topic.metadata.propagation.max.ms=0"]
    done = subprocess.run(command, check=False, timeout=TIMEOUT_S, capture_output=True)
    assert done.returncode != 0
    assert b"Unknown topic or partition" in done.stderr
