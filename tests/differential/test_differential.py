"""The lane: every area, Apache Kafka against our broker, one node of each for the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.cluster.kafka_jars import fetch_jars
from tests.differential.compare import Difference, compared
from tests.differential.intended import INTENDED
from tests.differential.judge import judged, report
from tests.differential.script import area_names, stories_of
from tests.differential.stage import Stage
from tests.differential.systems import running_systems

pytestmark = [
    pytest.mark.differential,
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    fetch_jars()
    with running_systems() as systems:
        yield Stage(systems)


def test_our_broker_answers_as_kafka_does_but_for_what_is_intended(stage: Stage) -> None:
    """One test, because an entry for all areas is known to be unused only after the last one."""
    differences: list[Difference] = []
    for area in area_names():
        for story in stories_of(area):
            for kafka, ours in stage.plays(story):
                differences += compared(kafka, ours)
    verdict = judged(differences, INTENDED, [*area_names(), "*"])
    assert verdict.is_good, "\n" + "\n".join(report(verdict))
