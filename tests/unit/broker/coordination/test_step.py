"""Steps that are carried out as one, and refused as one."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket, in_turn, reply
from broker.protocol.errors import ErrorCode

NOW = Now(0.0, 0)
RECORD = CoordinatorRecord(b"k", b"v")


def answers(step: Step) -> list[object]:
    return [each.response for each in step.replies]


def storing(said: str) -> Step:
    ticket = Ticket()
    return Step([RECORD], [Reply(ticket, said)], lambda code, now: reply(ticket, code))


def test_records_and_replies_keep_their_order() -> None:
    step = in_turn(reply(Ticket(), "a"), storing("b"), reply(Ticket(), "c"))
    assert (step.records, answers(step)) == ([RECORD], ["a", "b", "c"])


def test_what_needs_no_record_holds_when_a_record_is_refused() -> None:
    step = in_turn(reply(Ticket(), "a"), storing("b"), storing("c"))
    assert step.refused is not None
    refused = step.refused(ErrorCode.NOT_COORDINATOR, NOW)
    assert refused.records == []
    assert answers(refused) == ["a", ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR]


def test_records_that_nobody_waits_for_are_dropped_when_they_are_refused() -> None:
    step = in_turn(reply(Ticket(), "a"), Step([RECORD], is_atomic=False))
    assert step.refused is not None
    assert not step.is_atomic
    assert answers(step.refused(ErrorCode.NOT_COORDINATOR, NOW)) == ["a"]


def test_steps_without_records_cannot_be_refused() -> None:
    assert in_turn(reply(Ticket(), "a"), Step()).refused is None
