"""Runs with transactions: every workload and client, under faults, and what happens without any."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from checkers import check
from checkers.checker import Evidence
from checkers.contract import Contract
from checkers.log.late_requests import CLASSIC_ROW
from checkers.verdict import Validity, Verdict
from harness.history.history import History
from harness.history.op import Op
from tests.run.commands import harness

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
LOCAL = ("--on", "local", "--nodes", "3", "--rate", "80", "--json")


def results(said: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said.out)
    return found


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("client", ["confluent", "aiokafka", "native"])
def test_transactions_of_every_client_survive_a_kill(tmp_path: Path, client: str) -> None:
    words = ("-w", "txn", "--client", client, "--nemesis", "kill@coordinator", "--seed", "3")
    limits = ("--time-limit", "15", "--nemesis-interval", "5")
    said = harness("test", *LOCAL, *words, *limits, cwd=tmp_path)
    assert said.exit_code == 0, str(said)
    history = list(History.load(tmp_path / "store" / "latest"))
    rows = [op.value for op in history if op.f == "transaction"]
    assert {"committed", "aborted"} <= {each["end"] for each in rows}
    assert {each["protocol"] for each in rows} <= {1, 2}
    states = results(said)["figures"]["states"]
    assert states["transactions-committed"] == sum(each["end"] == "committed" for each in rows)


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("workload", ["bank", "exactly-once"])
def test_deals_and_transforms_are_whole_though_clients_die(tmp_path: Path, workload: str) -> None:
    words = ("-w", workload, "--nemesis", "client:kill,kill", "--seed", "5")
    limits = ("--time-limit", "15", "--nemesis-interval", "4")
    said = harness("test", *LOCAL, *words, *limits, cwd=tmp_path)
    assert said.exit_code == 0, str(said)


@pytest.mark.slow
@pytest.mark.clients
def test_without_transactions_the_shop_oversells(tmp_path: Path) -> None:
    words = ("-w", "shop", "--no-transactions", "--nemesis", "client:kill@all", "--seed", "2")
    limits = ("--time-limit", "15", "--nemesis-interval", "1.5", "--concurrency", "12")
    said = harness("test", *LOCAL, *words, *limits, cwd=tmp_path)
    assert said.exit_code == 1, str(said)
    types = {each for one in results(said)["checks"] for each in one["anomaly-types"]}
    assert "oversold" in types
    assert "--no-transactions" in (tmp_path / "store" / "latest" / "command.txt").read_text()


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize(
    ("words", "protocol"),
    [
        (("--client", "native", "--protocol-versions", "EndTxn=4"), 1),
        (("--client", "confluent"), 1),
        (("--client", "native"), 2),
    ],
)
def test_a_late_commit_request_hits_the_next_transaction_of_the_classic_protocol_alone(
    tmp_path: Path, words: tuple[str, ...], protocol: int
) -> None:
    """T01 (KAFKA-17754) on real sockets. librdkafka speaks the classic protocol."""
    is_classic = protocol == 1
    plugin = ("--plugin", str(EXAMPLES / "late_end_txn.py"), "-w", "late-end", "--seed", "1")
    schedule = ("--schedule", str(EXAMPLES / "late-end-txn.json"), "--time-limit", "20")
    load = ("--on", "local", "--nodes", "3", "--concurrency", "3", "--rate", "30", "--json")
    said = harness("test", *load, *plugin, *schedule, *words, cwd=tmp_path)
    assert said.exit_code == 0, str(said)
    found = results(said)
    assert found["figures"]["survived"]["faults"] == {"wire": 1}
    [judged] = [each for each in found["checks"] if each["checker"] == "G1a"]
    assert judged["allowed"] == (["G1a"] if is_classic else [])
    rows = {each["row"] for some in judged["anomalies"].values() for each in some}
    assert rows == ({CLASSIC_ROW.when} if is_classic else set())
    history = list(History.load(tmp_path / "store" / "latest"))
    # The late request arrived, and this is what the coordinator made of it.
    [answers] = [op.value["answers"] for op in history if op.f == "answered-wire"]
    assert answers == {"NONE" if is_classic else "PRODUCER_FENCED": 1}
    assert late_commit_of(history)["protocol"] == protocol
    if is_classic:
        assert judged_as_protocol_2(history).validity is Validity.INVALID


def late_commit_of(history: list[Op]) -> dict[str, Any]:
    """The transaction whose commit was sent again; the next one must be one to abort."""
    transactions = [op for op in history if op.f == "transaction"]
    for each, following in pairwise(transactions):
        if any(step == "commit" and taken >= 1900 for step, _, taken in each.value["steps"]):
            assert each.value["end"] == "committed"
            assert following.value["steps"][-1][0] == "abort"
            found: dict[str, Any] = each.value
            return found
    raise AssertionError("no commit was sent again")


def judged_as_protocol_2(history: list[Op]) -> Verdict:
    """The same anomaly, had its producer spoken protocol 2."""
    told = [
        replace(op, value={**op.value, "protocol": 2}) if op.f == "transaction" else op
        for op in history
    ]
    return check(Evidence(History.of(told)), Contract(), ["G1a"])[0]


@pytest.mark.slow
def test_the_same_seed_makes_the_same_transactions(tmp_path: Path) -> None:
    words = ("--on", "sim", "-w", "txn", "--nemesis", "kill", "--time-limit", "5", "--seed", "1")
    found = []
    for at in ("first", "second"):
        said = harness("test", *words, "--store", at, "--json", cwd=tmp_path)
        assert said.exit_code == 0, str(said)
        parts = sorted((tmp_path / at / "latest" / "history.parquet").iterdir())
        found.append([(part.name, part.read_bytes()) for part in parts])
    assert found[0] == found[1]
