"""Honest histories agree with what is stored; one record taken away is one loss."""

from __future__ import annotations

import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.protocol.records import Record, build_batch
from checkers.columns import Columns
from checkers.findings import Finding
from checkers.log.facts import LogFacts
from checkers.segments.batches import batches
from checkers.segments.compare import Comparison
from checkers.segments.replicas import Replica
from harness.history.history import History
from tests.property.log_histories import Play


def played(dice: Random) -> Play:
    play = Play(dice, bend=0.0, boxed=dice.random() < 0.3)
    for _ in range(dice.randint(1, 14)):
        play.operation()
    return play


def findings(play: Play, nodes: int = 3) -> tuple[Finding, ...]:
    replicas = []
    for key, log in play.logs.items():
        data = b"".join(
            build_batch([Record(offset, 0, None, json.dumps(value).encode())], leader_epoch=0)
            for offset, value in log
        )
        replicas += [
            Replica(f"n{number}", key, batches=list(batches(data))) for number in range(nodes)
        ]
    facts = LogFacts(Columns(History.of(play.rows)))
    return Comparison(facts, replicas, copies=nodes).findings().found


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_an_honest_history_is_what_is_stored(seed: int) -> None:
    assert findings(played(Random(seed))) == ()


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_record_that_was_told_of_and_is_gone_is_a_loss(seed: int) -> None:
    dice = Random(seed)
    play = played(dice)
    told = {
        (key, pair[0])
        for row in play.rows
        for part in row.value or ()
        if row.type == "ok" and part[0] == "send" and isinstance(part, list)
        for key, pair in [(part[1], part[2])]
        if pair[0] is not None
    }
    if not told:
        return
    key, offset = dice.choice(sorted(told))
    play.logs[key] = [record for record in play.logs[key] if record[0] != offset]
    found = [one for one in findings(play) if one.type == "lost-write"]
    assert [(one.witness["key"], one.witness["offset"]) for one in found] == [(key, offset)]
