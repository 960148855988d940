"""Which batch may leave when, and what is certain about it afterwards."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record
from harness.native.produce_queue import (
    Batch,
    Delivered,
    Failed,
    Identity,
    ProduceQueue,
    Unknown,
)

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def batch(count: int = 1) -> Batch:
    return Batch([Record(at, 0, None, b"v") for at in range(count)])


def filled(count: int, *, identity: int = 1) -> tuple[ProduceQueue, list[Batch]]:
    """A queue with an identity and so many batches, none of them sent."""
    queue = ProduceQueue(idempotent=True)
    batches = [batch() for _ in range(count)]
    for each in batches:
        queue.add(each)
    queue.take_identity(Identity(identity, 0))
    return queue, batches


def send_all(queue: ProduceQueue) -> list[Batch]:
    found = queue.sendable()
    for each in found:
        queue.sent(each)
    return found


def test_five_leave_in_their_order_and_the_next_when_the_first_is_acknowledged() -> None:
    queue, batches = filled(7)
    assert send_all(queue) == batches[:5]
    assert [each.sequence for each in batches[:5]] == [0, 1, 2, 3, 4]
    assert send_all(queue) == []
    assert queue.accepted(batches[0], 11) == Delivered(11)
    assert send_all(queue) == [batches[5]]


def test_nothing_leaves_that_would_make_the_broker_forget_a_batch_without_an_answer() -> None:
    queue, batches = filled(9)
    send_all(queue)
    for each in batches[1:5]:
        queue.accepted(each, 1)
    assert send_all(queue) == [], "a retry of the first must be among the last five"
    queue.lost(batches[0], "no answer")
    assert send_all(queue) == [batches[0]]
    queue.accepted(batches[0], 0)
    assert send_all(queue) == batches[5:9]


def test_sequences_count_records_and_wrap() -> None:
    queue = ProduceQueue(idempotent=True)
    batches = [batch(3), batch(2), batch()]
    for each in batches:
        queue.add(each)
    queue.take_identity(Identity(1, 0))
    queue._next_sequence = 2**31 - 4
    send_all(queue)
    assert [each.sequence for each in batches] == [2**31 - 4, 2**31 - 1, 1]


def test_nothing_leaves_before_there_is_an_identity() -> None:
    queue = ProduceQueue(idempotent=True)
    assert not queue.needs_identity  # nobody needs one yet
    queue.add(batch())
    assert queue.needs_identity
    assert queue.sendable() == []


def test_lost_batches_go_again_one_by_one_with_their_old_numbers() -> None:
    queue, batches = filled(4)
    send_all(queue)
    for each in batches[:3]:
        assert queue.lost(each, "cut") is None
    assert queue.accepted(batches[3], 3) == Delivered(3)
    queue.add(batch())
    for expected, each in enumerate(batches[:3]):
        assert send_all(queue) == [each]
        assert each.sequence == expected
        assert queue.accepted(each, expected) == Delivered(expected)
    assert len(send_all(queue)) == 1


def test_a_retry_waits_for_an_earlier_batch_in_flight() -> None:
    queue, batches = filled(2)
    send_all(queue)
    queue.lost(batches[1], "cut")
    assert send_all(queue) == []
    queue.lost(batches[0], "cut")
    assert send_all(queue) == [batches[0]]


def test_out_of_order_behind_a_failure_is_only_an_echo_of_it() -> None:
    queue, batches = filled(3)
    send_all(queue)
    assert queue.refused(batches[0], ErrorCode.NOT_ENOUGH_REPLICAS) is None
    assert queue.refused(batches[1], OUT_OF_ORDER) is None
    assert queue.refused(batches[2], OUT_OF_ORDER) is None
    for expected, each in enumerate(batches):
        assert send_all(queue) == [each]
        assert (each.sequence, each.identity) == (expected, Identity(1, 0))
        assert queue.accepted(each, expected) == Delivered(expected)
    assert queue.resets == 0


def test_out_of_order_in_front_takes_a_new_identity_when_all_old_numbers_are_settled() -> None:
    queue, batches = filled(3)
    send_all(queue)
    assert queue.refused(batches[0], OUT_OF_ORDER) is None
    assert not queue.needs_identity, "two are in flight with old numbers"
    assert send_all(queue) == []
    assert queue.refused(batches[1], OUT_OF_ORDER) is None
    # This one was not refused, only lost: it must ask under its old number first.
    assert queue.lost(batches[2], "cut") is None
    assert not queue.needs_identity
    assert send_all(queue) == [batches[2]]
    assert (batches[2].sequence, batches[2].identity) == (2, Identity(1, 0))
    assert queue.accepted(batches[2], 9) == Delivered(9)
    assert queue.needs_identity
    queue.take_identity(Identity(2, 0))
    assert send_all(queue) == batches[:2]
    assert [each.sequence for each in batches[:2]] == [0, 1]
    assert {each.identity for each in batches[:2]} == {Identity(2, 0)}
    assert queue.resets == 1


def test_a_definite_refusal_is_a_failure() -> None:
    queue, (only,) = filled(1)
    send_all(queue)
    outcome = queue.refused(only, ErrorCode.MESSAGE_TOO_LARGE, "too large")
    assert outcome == Failed("too large", ErrorCode.MESSAGE_TOO_LARGE)
    queue.add(batch())
    assert queue.needs_identity, "the refused one has left a gap in the numbers"


def test_a_definite_refusal_after_a_lost_try_is_not_certain() -> None:
    queue, (only,) = filled(1)
    send_all(queue)
    queue.lost(only, "cut")
    send_all(queue)
    outcome = queue.refused(only, ErrorCode.MESSAGE_TOO_LARGE, "too large")
    assert outcome == Unknown("too large", ErrorCode.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_whatever_is_not_on_the_list_may_hide_a_write(code: ErrorCode) -> None:
    queue, (only,) = filled(1)
    send_all(queue)
    outcome = queue.refused(only, code)
    if outcome is None:
        outcome = queue.give_up(only)
    assert outcome == Unknown(code.name, code)


def test_a_batch_that_never_left_has_certainly_failed() -> None:
    queue, batches = filled(6)
    send_all(queue)
    assert queue.give_up(batches[5]) == Failed("never sent")
    assert queue.give_up(batches[0]) == Unknown("never sent"), "it is in flight"


def test_an_answer_after_the_time_was_up_changes_nothing() -> None:
    queue, (only,) = filled(1)
    send_all(queue)
    assert queue.give_up(only) is not None
    assert queue.accepted(only, 5) is None
    assert queue.lost(only, "cut") is None
    assert queue.refused(only, OUT_OF_ORDER) is None
    assert len(queue) == 0


def test_a_known_duplicate_is_delivered() -> None:
    queue, (only,) = filled(1)
    send_all(queue)
    assert queue.refused(only, ErrorCode.DUPLICATE_SEQUENCE_NUMBER) == Delivered(-1)


def test_without_idempotence_nothing_waits_for_its_turn() -> None:
    queue = ProduceQueue(idempotent=False, in_flight_max=2, retries=1)
    batches = [batch() for _ in range(3)]
    for each in batches:
        queue.add(each)
    assert not queue.needs_identity
    assert send_all(queue) == batches[:2]
    assert queue.lost(batches[0], "cut") is None
    assert send_all(queue) == [batches[0]]
    assert batches[0].sequence == -1
    assert queue.lost(batches[0], "cut again") == Unknown("cut again")
    assert send_all(queue) == [batches[2]]


def test_more_in_flight_than_the_broker_remembers_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 5"):
        ProduceQueue(idempotent=True, in_flight_max=6)
