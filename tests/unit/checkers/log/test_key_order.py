"""Records with keys: their order in a partition, and what happens when a key moves."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity, Verdict
from harness.history.history import History
from harness.history.op import Op
from tests.unit.checkers.stories import keyed, polled, sent, told


def verdict(*operations: Any, contract: Contract | None = None) -> Verdict:
    (found,) = check(told(*operations), contract or Contract.safe(), ["key-order"])
    return found


OLD, NEW = keyed(0, "k1", ("t-0", 7, 1)), keyed(0, "k1", ("t-1", 0, 2))


def test_records_of_a_burst_are_in_order_as_well() -> None:
    assert verdict(keyed(0, "k1", ("t-0", 0, 1), ("t-0", 1, 2))).validity is Validity.VALID
    (swap,) = verdict(keyed(0, "k1", ("t-0", 1, 1), ("t-0", 0, 2))).anomalies
    assert swap.because == (
        "process 0 sent 1 with key k1 and then 2, and t-0 has them at offsets 1 and 0"
    )
    assert swap.witness == {"key": "t-0", "values": [1, 2], "offsets": [1, 0]}


@pytest.mark.parametrize(
    "other",
    [
        keyed(0, "k2", ("t-0", 0, 2)),
        keyed(1, "k1", ("t-0", 0, 2)),
        keyed(0, "k1", ("t-1", 0, 2)),
        keyed(0, "k1", ("t-0", None, 2), outcome="info"),
    ],
    ids=["another key", "another producer", "another partition", "not acknowledged"],
)
def test_only_acknowledged_records_of_one_producer_key_and_partition_have_an_order(
    other: Any,
) -> None:
    assert verdict(keyed(0, "k1", ("t-0", 1, 1)), other).validity is Validity.VALID


def test_a_record_of_another_key_between_two_hides_nothing() -> None:
    between = keyed(0, "k2", ("t-0", 9, 5))
    found = verdict(keyed(0, "k1", ("t-0", 4, 1)), between, keyed(0, "k1", ("t-0", 3, 2)))
    assert [each.witness["values"] for each in found.anomalies] == [[1, 2]]


def test_without_idempotence_the_configuration_does_not_promise_it() -> None:
    contract = Contract(idempotence=False, judged_by="configured")
    found = verdict(keyed(0, "k1", ("t-0", 1, 1), ("t-0", 0, 2)), contract=contract)
    assert found.validity is Validity.VALID
    assert [each.type for each in found.allowed] == ["key-order"]


def test_a_consumer_that_is_shown_the_new_partition_first_is_counted_and_allowed() -> None:
    found = verdict(OLD, NEW, polled(5, "t-1", (0, 2)), polled(5, "t-0", (7, 1)))
    assert found.validity is Validity.VALID
    (overtaken,) = found.allowed
    assert overtaken.type == "key-overtaken"
    assert overtaken.because == (
        "process 0 sent 1 with key k1 to t-0 and, after its acknowledgement, 2 to t-1; "
        "process 5 polled the second in op 5 and the first in op 7"
    )
    assert overtaken.witness == {"key": "t-0", "moved-to": "t-1", "values": [1, 2]}
    assert (found.stats["moves"], found.stats["overtaken"], found.stats["count"]) == (1, 1, 1)


@pytest.mark.parametrize(
    "seen",
    [
        (polled(5, "t-0", (7, 1)), polled(5, "t-1", (0, 2))),
        (polled(5, "t-1", (0, 2)),),
        (polled(5, "t-1", (0, 2)), polled(6, "t-0", (7, 1))),
        ((5, "ok", "poll", [["poll", {"t-1": [[0, 2]], "t-0": [[7, 1]]}]]),),
        (polled(5, "t-0", (7, 1)), polled(5, "t-1", (0, 2)), polled(5, "t-0", (7, 1))),
        (polled(5, "t-1", (0, 2), outcome="fail"), polled(5, "t-0", (7, 1))),
    ],
    ids=["in order", "never", "by two consumers", "in one poll", "again", "a poll that failed"],
)
def test_nothing_is_overtaken(seen: Any) -> None:
    found = verdict(OLD, NEW, *seen)
    assert not found.allowed
    assert (found.stats["moves"], found.stats["overtaken"]) == (1, 0)


def test_a_burst_that_is_torn_by_a_move_was_never_in_an_order() -> None:
    torn = keyed(0, "k1", ("t-0", 7, 1), ("t-1", 0, 2))
    found = verdict(torn, polled(5, "t-1", (0, 2)), polled(5, "t-0", (7, 1)))
    assert found.stats["moves"] == 0


def test_many_moves_are_told_apart() -> None:
    """Two keys, of which one moves twice, and two consumers."""
    sends = [
        keyed(0, "k1", ("t-0", 0, 1)),
        keyed(0, "k2", ("t-0", 1, 2)),
        keyed(0, "k1", ("t-1", 0, 3)),
        keyed(0, "k1", ("t-2", 0, 4)),
        keyed(0, "k2", ("t-2", 1, 5)),
    ]
    first = [polled(5, "t-0", (0, 1), (1, 2)), polled(5, "t-2", (0, 4), (1, 5))]
    second = [polled(6, "t-2", (0, 4), (1, 5)), polled(6, "t-0", (0, 1), (1, 2))]
    late = [polled(5, "t-1", (0, 3)), polled(6, "t-1", (0, 3))]
    found = verdict(*sends, *first, *second, *late)
    assert (found.stats["moves"], found.stats["overtaken"]) == (3, 2)
    values = [each.witness["values"] for each in found.allowed]
    assert sorted(values) == [[2, 5], [3, 4]]


def test_records_that_were_sent_to_a_partition_have_no_key_to_judge() -> None:
    found = verdict(sent(0, "t-0", (1, 1)), sent(0, "t-0", (0, 2)))
    assert found.validity is Validity.UNKNOWN
    assert found.why == "no record was sent by its key"
    unsure = verdict(keyed(0, "k1", ("t-0", None, 1), outcome="info"))
    assert unsure.why == "no record with a key was acknowledged"


def test_a_value_that_is_no_number_is_nobodys() -> None:
    rows = [
        Op(0, 0, 0, "invoke", "send", [["send", "t/k1", "a"]]),
        Op(1, 1, 0, "ok", "send", [["send", "t-0", [0, "a"]]]),
    ]
    (found,) = check(History.of(rows), Contract.safe(), ["key-order"])
    assert found.validity is Validity.UNKNOWN


def test_what_a_client_sent_before_it_died_is_no_phantom() -> None:
    """It chose a partition, and could not tell which."""
    dead = keyed(0, "k1", ("t-0", None, 1), outcome=None)
    (found,) = check(told(dead, polled(5, "t-3", (0, 1))), Contract.safe(), ["phantom-read"])
    assert found.validity is Validity.VALID
    elsewhere = (5, "ok", "poll", [["poll", {"u-0": [[0, 1]]}]])
    (found,) = check(told(dead, elsewhere), Contract.safe(), ["phantom-read"])
    assert found.validity is Validity.INVALID
    acked = keyed(0, "k1", ("t-0", 0, 1))
    (found,) = check(told(acked, polled(5, "t-3", (0, 1))), Contract.safe(), ["phantom-read"])
    assert found.validity is Validity.INVALID, "it was acknowledged in t-0"
