"""A key is where its partitioner puts it, with a number of partitions that there has been."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity, Verdict
from harness.client.partitioners import BY_NAME
from harness.history.history import History
from tests.unit.checkers.stories import assigned, grown, keyed, polled, told

TWO = assigned(9, ["t-0", "t-1"])
CUSTOM = (0, "ok", "partitioner", "custom")


def verdict(*operations: Any) -> Verdict:
    """A row takes a millisecond."""
    rows = [replace(op, time_ns=op.time_ns * 1_000_000) for op in told(*operations)]
    (found,) = check(History.of(rows), Contract.safe(), ["key-moved"])
    return found


def test_the_sentence_names_key_partition_and_numbers() -> None:
    (moved,) = verdict(CUSTOM, TWO, grown(1, 3), keyed(0, "k5", ("t-0", 4, 1))).anomalies
    assert moved.because == (
        "process 0 sent 1 with key k5 to t-0, where custom puts that key with none of 2, 3 "
        "partitions, or not yet"
    )
    assert moved.witness["partitions"] == [2, 3]


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_each_partitioner_is_known(name: str) -> None:
    chosen = BY_NAME[name](b"k5", 2)
    client = (0, "ok", "partitioner", name)
    right = verdict(client, TWO, keyed(0, "k5", (f"t-{chosen}", 0, 1)))
    assert right.validity is Validity.VALID
    assert right.stats["partitioners"] == {name: 1}
    wrong = verdict(client, TWO, keyed(0, "k5", (f"t-{1 - chosen}", 0, 1)))
    assert wrong.validity is Validity.INVALID


def test_a_key_may_move_when_partitions_are_added_and_back_by_old_metadata() -> None:
    found = verdict(
        CUSTOM,
        TWO,
        keyed(0, "k2", ("t-0", 0, 1)),
        grown(1, 3),
        keyed(0, "k2", ("t-2", 0, 2)),
        keyed(0, "k2", ("t-0", 1, 3)),
    )
    assert found.validity is Validity.VALID
    assert found.stats["old-count-ms"] == 3.0, "from row 7 to row 10"


def test_partitions_that_nobody_has_asked_for_yet_explain_nothing() -> None:
    early = verdict(CUSTOM, TWO, keyed(0, "k2", ("t-2", 0, 1)), grown(1, 3))
    assert early.validity is Validity.INVALID
    refused = verdict(CUSTOM, TWO, grown(1, 3, "fail"), keyed(0, "k2", ("t-2", 0, 1)))
    assert refused.validity is Validity.INVALID
    maybe = verdict(CUSTOM, TWO, grown(1, 3, "info"), keyed(0, "k2", ("t-2", 0, 1)))
    assert maybe.validity is Validity.VALID


def test_a_record_of_unknown_outcome_is_judged_where_it_is_known_to_be() -> None:
    unsure = keyed(0, "k1", ("t-0", None, 1), outcome="info")
    assert verdict(CUSTOM, TWO, unsure).validity is Validity.INVALID
    dead = keyed(0, "k1", ("t-0", None, 1), outcome=None)
    shown = verdict(CUSTOM, TWO, dead, polled(5, "t-0", (0, 1)))
    assert shown.validity is Validity.INVALID


@pytest.mark.parametrize(
    "rows",
    [
        (TWO,),
        ((0, "ok", "partitioner", "fnv1a_random"), TWO),
        (CUSTOM,),
        (CUSTOM, assigned(9, ["t-1"])),
    ],
    ids=["no partitioner", "an unknown one", "no number", "not all partitions"],
)
def test_without_partitioner_and_number_nothing_is_judged(rows: Any) -> None:
    found = verdict(*rows, keyed(0, "k1", ("t-0", 0, 1)))
    assert found.validity is Validity.UNKNOWN
    assert found.why == "no client recorded its partitioner and the number of partitions"


def test_old_numbers_are_late_from_the_acknowledgement_of_a_new_one_on() -> None:
    in_time = verdict(CUSTOM, TWO, keyed(0, "k2", ("t-0", 0, 1)), grown(1, 3))
    assert in_time.stats["old-count-ms"] == 0
