"""What librdkafka is told: the run's settings, and the user's above them."""

from __future__ import annotations

import pytest

from harness.client.base import ClientSettings
from harness.client.librdkafka import Config, admin_config, consumer_config, producer_config

SETTINGS = ClientSettings(bootstrap="n1:9092")


@pytest.mark.parametrize("made", [producer_config, consumer_config, admin_config])
def test_a_client_looks_for_new_leaders_before_a_request_is_given_up(made: object) -> None:
    assert callable(made)
    config: Config = made(SETTINGS, "c1")
    assert config["topic.metadata.refresh.interval.ms"] == SETTINGS.metadata_max_age_ms
    assert SETTINGS.metadata_max_age_ms < SETTINGS.request_timeout_ms
    # Two tries at least, so that one that went to a leader which was deposed decides nothing.
    assert 2 * SETTINGS.request_timeout_ms < SETTINGS.delivery_timeout_ms


def test_what_the_user_says_wins() -> None:
    settings = ClientSettings(
        bootstrap="n1:9092",
        producer_config={"topic.metadata.refresh.interval.ms": "300000"},
        consumer_config={"fetch.wait.max.ms": "7"},
    )
    assert producer_config(settings, "c1")["topic.metadata.refresh.interval.ms"] == "300000"
    assert consumer_config(settings, "c1")["fetch.wait.max.ms"] == "7"
