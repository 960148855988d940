"""unavailable: guilty with evidence, innocent where all serve, unknown in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.checker import Evidence
from checkers.contract import Contract
from checkers.verdict import Validity, Verdict
from tests.unit.checkers.stories import told


def availability(seen: dict[str, Any], contract: Contract) -> Verdict:
    return check(Evidence(told(), calm=seen), contract, ["availability"])[0]


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
    assert "60 s after the last fault, although a majority answers" in anomaly.because
    assert anomaly.contract.startswith("After healing")


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (calm(leaderless(), healed=False), "the faults were not healed"),
        (calm(partitions=0), "no partition was described"),
        (calm(leaderless(), waited_s=29.0), "too early"),
        (calm(leaderless(), nodes={**NODES, "n2": False, "n3": False}), "no majority"),
        (calm(leaderless(), struck=["n2"]), "no replica is known that could serve it"),
        (calm(leaderless(), nodes={**NODES, "n3": False}), "no replica is known"),
        (calm(leaderless("n2"), struck=["n2"]), "no replica is known"),
        (
            calm({**leaderless("n1"), "leader": "n1"}, struck=["n2", "n3"]),
            "t-0 accepts no write with acks=all",
        ),
    ],
)
def test_in_doubt_it_is_unknown(seen: dict[str, Any], why: str) -> None:
    verdict = availability(seen, Contract.safe())
    assert verdict.validity is Validity.UNKNOWN
    assert why in verdict.why
    assert not verdict.anomalies


def late(**more: Any) -> dict[str, Any]:
    return {
        "partition": "t-0",
        "leader": "n1",
        "replicas": ["n1", "n2", "n3"],
        "isr": ["n1", "n2"],
        "min_isr": 2,
        "tries": 3,
        "tried_s": 31.2,
        "took_s": None,
        "heard": True,
        "error": "TIMED_OUT: no",
        **more,
    }


def written(*found: dict[str, Any], before: int = 900, **more: Any) -> dict[str, Any]:
    took = {"t-1": 0.004, "t-2": 0.004, "t-3": 0.004}
    writes = {"before": before, "acknowledged": 3, "took_s": took, "late": list(found)}
    return calm(waited_s=0.2, writes=writes, **more)


@pytest.mark.parametrize(
    ("seen", "because"),
    [
        (
            written(late()),
            "t-0 acknowledged none of 3 writes that one client tried in the 31.2 s after healing",
        ),
        (written(late(), struck=["n3"]), "though n1 leads it, ['n1', 'n2'] are in sync"),
        (written(late(took_s=33.0)), "t-0 acknowledged a write only 33 s after healing"),
        (written(late(leader=None)), "though no node leads it"),
    ],
)
def test_a_partition_that_takes_no_write_in_time_is_unavailable(
    seen: dict[str, Any], because: str
) -> None:
    verdict = availability(seen, Contract.safe())
    assert verdict.validity is Validity.INVALID
    (anomaly,) = verdict.anomalies
    assert anomaly.type == "unavailable"
    assert because in anomaly.because


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (written(late(), healed=False), "the faults were not healed"),
        (written(late(), nodes={**NODES, "n2": False, "n3": False}), "no majority"),
        (written(late(), before=0), "the configuration may be the reason"),
        (written(late(tries=0, tried_s=0.0, heard=False)), "no client tried a write"),
        (
            written(late(heard=False)),
            "no broker answered the clients, so the clients may be the reason",
        ),
        (written(late(tried_s=29.0)), "a finding needs at least 2 failed writes and 30 s"),
        (written(late(tries=1)), "a finding needs at least 2 failed writes"),
        (written(late(tries=2, took_s=33.0)), "a finding needs at least 2 failed writes"),
        (written(late(), struck=["n1"]), "no replica is known"),
        (written(late(), struck=["n2"]), "no replica is known"),
        (written(late(), nodes={**NODES, "n1": False}), "no replica is known"),
        (written(late(isr=["n1"])), "no replica is known"),
        (written(late(leader=None, isr=[], replicas=[])), "no replica is known"),
    ],
)
def test_a_write_in_vain_proves_nothing_where_the_cluster_may_be_excused(
    seen: dict[str, Any], why: str
) -> None:
    verdict = availability(seen, Contract.safe())
    assert verdict.validity is Validity.UNKNOWN
    assert why in verdict.why
    assert not verdict.anomalies


def test_a_cluster_that_takes_writes_is_available() -> None:
    assert availability(written(), Contract.safe()).validity is Validity.VALID


def test_a_cluster_that_serves_is_available() -> None:
    verdict = availability(calm(), Contract.safe())
    assert verdict.validity is Validity.VALID
    assert verdict.stats["looked-at"] == 4


def test_more_damage_than_the_replicas_bear_excuses_it() -> None:
    contract = Contract(faults=frozenset({"power"}), unsafe_faults=True)
    verdict = availability(calm(leaderless("n2")), contract)
    assert verdict.validity is Validity.UNKNOWN
    assert [each.type for each in verdict.unsaid] == ["unavailable"]
