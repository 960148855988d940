"""unavailable: guilty with evidence, innocent where all serve, unknown in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.availability import availability
from checkers.contract import Contract
from checkers.verdict import Validity

NODES = {"n1": True, "n2": True, "n3": True}


def leaderless(*isr: str) -> dict[str, Any]:
    return {
        "partition": "t-0",
        "leader": None,
        "replicas": ["n1", "n2", "n3"],
        "isr": list(isr),
        "min_isr": 2,
    }


def calm(*unwell: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "healed": True,
        "waited_s": 60.0,
        "nodes": NODES,
        "struck": [],
        "partitions": 4,
        "unwell": list(unwell),
        **more,
    }


@pytest.mark.parametrize(
    "seen",
    [
        calm(leaderless()),
        calm(leaderless("n2"), struck=["n1", "n3"]),
        calm({**leaderless("n1"), "leader": "n1"}),
        calm({**leaderless("n1"), "leader": "n1"}, struck=["n3"]),
    ],
)
def test_a_partition_that_should_serve_and_does_not_is_unavailable(seen: dict[str, Any]) -> None:
    verdict = availability(seen, Contract.safe())
    assert verdict.validity is Validity.INVALID
    (anomaly,) = verdict.anomalies
    assert anomaly.type == "unavailable"
    assert anomaly.because.startswith("t-0 ")
    assert "60 s after the last fault, though a majority answers" in anomaly.because
    assert anomaly.contract.startswith("When all is healed")


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (calm(leaderless(), healed=False), "could not be healed"),
        (calm(partitions=0), "no partition was described"),
        (calm(leaderless(), waited_s=29.0), "too early"),
        (calm(leaderless(), nodes={**NODES, "n2": False, "n3": False}), "no majority"),
        (calm(leaderless(), struck=["n2"]), "no replica is known that could serve it"),
        (calm(leaderless(), nodes={**NODES, "n3": False}), "no replica is known"),
        (calm(leaderless("n2"), struck=["n2"]), "no replica is known"),
        (
            calm({**leaderless("n1"), "leader": "n1"}, struck=["n2", "n3"]),
            "t-0 takes no write with acks=all",
        ),
    ],
)
def test_in_doubt_it_is_unknown(seen: dict[str, Any], why: str) -> None:
    verdict = availability(seen, Contract.safe())
    assert verdict.validity is Validity.UNKNOWN
    assert why in verdict.why
    assert not verdict.anomalies


def test_a_cluster_that_serves_is_available() -> None:
    verdict = availability(calm(), Contract.safe())
    assert verdict.validity is Validity.VALID
    assert verdict.stats["looked-at"] == 4


def test_more_damage_than_the_replicas_bear_excuses_it() -> None:
    contract = Contract(faults=frozenset({"power"}), unsafe_faults=True)
    verdict = availability(calm(leaderless("n2")), contract)
    assert verdict.validity is Validity.UNKNOWN
    assert [each.type for each in verdict.unsaid] == ["unavailable"]
