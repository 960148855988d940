"""What the contract says, and whose contract it is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from checkers import check
from checkers.contract import Contract, Promise, row_for
from checkers.models import Question, judge
from checkers.registry import rows
from checkers.verdict import Validity
from tests.unit.checkers.stories import polled, sent, told

LOSS = told(sent(0, "x", (0, 1)), sent(0, "x", (1, 2)), polled(1, "x", (1, 2)))
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("anomaly", rows())
def test_the_last_row_of_every_anomaly_always_fits(anomaly: str) -> None:
    assert row_for(anomaly, Contract.safe()) in rows()[anomaly]


@pytest.mark.parametrize("anomaly", ["lost-write", "duplicate", "inconsistent-offsets", "G1a"])
def test_the_safe_contract_promises(anomaly: str) -> None:
    assert Contract.safe().ruling(anomaly).promise is Promise.NEVER


@pytest.mark.parametrize(
    ("contract", "anomaly"),
    [
        (Contract(acks="1"), "lost-write"),
        (Contract(acks="0"), "lost-write"),
        (Contract(unclean_leader_election=True), "lost-write"),
        (Contract(unclean_leader_election=True), "inconsistent-offsets"),
        (Contract(min_insync_replicas=1, faults=frozenset({"power"})), "lost-write"),
        (Contract(idempotence=False), "duplicate"),
        (Contract(isolation_level="read_uncommitted"), "G1a"),
        (Contract(isolation_level="read_uncommitted"), "G1c"),
        (Contract(isolation_level="read_uncommitted"), "G1c-realtime"),
    ],
)
def test_a_weak_configuration_is_judged_by_the_safe_contract_unless_asked(
    contract: Contract, anomaly: str
) -> None:
    safe = contract.ruling(anomaly)
    assert safe.promise is Promise.NEVER
    assert "This run's configuration does not promise it" in safe.sentence
    own = replace(contract, judged_by="configured").ruling(anomaly)
    assert own.promise is Promise.ALLOWED
    assert own.sentence in safe.sentence


def test_no_retries_no_duplicates() -> None:
    contract = Contract(idempotence=False, retries=0, judged_by="configured")
    assert contract.ruling("duplicate").promise is Promise.NEVER


def test_one_replica_that_flushed_still_promises() -> None:
    contract = Contract(
        min_insync_replicas=1,
        faults=frozenset({"power"}),
        flush="every-record",
        judged_by="configured",
    )
    assert contract.ruling("lost-write").promise is Promise.NEVER


def test_how_a_run_consumed_is_no_weakness() -> None:
    assert Contract(subscribe=True).ruling("nonmonotonic-poll").promise is Promise.ALLOWED
    assert Contract().ruling("nonmonotonic-poll").promise is Promise.NEVER


@pytest.mark.parametrize("anomaly", ["poll-skip", "int-poll-skip"])
def test_a_consumer_may_skip_what_retention_has_deleted(anomaly: str) -> None:
    assert Contract(retention=True).ruling(anomaly).promise is Promise.ALLOWED
    by_nemesis = Contract(faults=frozenset({"retention"}))
    assert by_nemesis.ruling(anomaly).promise is Promise.ALLOWED
    assert Contract().ruling(anomaly).promise is Promise.NEVER


def test_a_loss_under_acks_1_is_an_anomaly_and_the_sentence_says_what_was_promised() -> None:
    (verdict,) = check(LOSS, Contract(acks="1"), ["lost-write"])
    assert verdict.validity is Validity.INVALID
    assert "With acks=1 only the leader acknowledges a record" in verdict.anomalies[0].contract


def test_the_same_loss_is_allowed_by_its_own_configuration() -> None:
    (verdict,) = check(LOSS, Contract(acks="1", judged_by="configured"), ["lost-write"])
    assert verdict.validity is Validity.VALID
    assert not verdict.anomalies
    assert verdict.allowed[0].type == "lost-write"
    assert verdict.allowed[0].severity == "info"


def test_after_unsafe_faults_nobody_can_say() -> None:
    contract = Contract(unsafe_faults=True, faults=frozenset({"disk"}))
    (verdict,) = check(LOSS, contract, ["lost-write"])
    assert verdict.validity is Validity.UNKNOWN
    assert "so loss is not judged" in verdict.why
    assert not verdict.allowed
    assert [each.type for each in verdict.unsaid] == ["lost-write"]
    told = judge(LOSS, "kafka", Question(contract=contract)).as_json()
    assert told["valid"] == "unknown"
    assert "lost-write" in told["anomaly-types"]
    assert "lost-write" not in told["allowed"]


def test_faults_that_take_no_data_are_never_unsafe() -> None:
    contract = Contract(unsafe_faults=True, faults=frozenset({"kill", "partition"}))
    assert contract.ruling("lost-write").promise is Promise.NEVER


def test_an_anomaly_that_no_row_knows_is_never_allowed() -> None:
    assert Contract().ruling("something-new").promise is Promise.NEVER


def test_the_tables_of_the_reference_are_what_is_declared() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}run docs/generate.py"
