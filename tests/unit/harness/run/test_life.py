"""A client's life: what is written down, when it retires, how far it reads back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from harness.client.base import Batching, Completion, Invocation
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from harness.run.clients import Left, unsettled
from harness.run.life import Life
from workloads.base import Workload

CLIENTS = 4
STEP_NS = 1_000_000


class StepClock:
    """Each look at it is a step later."""

    def __init__(self) -> None:
        self.time_ns = 0

    def now_ns(self) -> int:
        self.time_ns += STEP_NS
        return self.time_ns

    async def sleep_until_ns(self, moment_ns: int) -> None:
        self.time_ns = max(self.time_ns, moment_ns)


class Sends:
    name = "sends"
    is_polled = False
    consistency = "nothing"
    needs = NO_PARTS
    checkers: tuple[str, ...] = ()
    topics: Sequence[NewTopic] = ()

    def batching(self, client: int) -> Batching:
        return Batching()

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return [Invocation("assign", ["t-0"])]

    def operation(self, client: int, ordinal: int) -> Invocation:
        return Invocation("send", [["send", "t-0", ordinal]])

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("send", [["send", key, ordinal]])

    def drained_keys(self, client: int) -> Sequence[str]:
        return ["t-0", "t-1"]

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()


class Asks(Sends):
    """Has questions left when everything is read back, and nothing to read."""

    def drained_keys(self, client: int) -> Sequence[str]:
        return []

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return [Invocation("describe", {"topic": f"{client}-{ordinal}-{at}"}) for at in range(2)]


class ScriptedClient:
    def __init__(self, answer: Callable[[Invocation], Completion], log: list[str]) -> None:
        self._answer = answer
        self._log = log

    async def open(self) -> None:
        self._log.append("open")

    async def invoke(self, invocation: Invocation) -> Completion:
        return self._answer(invocation)

    async def close(self) -> None:
        self._log.append("close")


class Story:
    def __init__(
        self, answer: Callable[[Invocation], Completion], workload: Workload | None = None
    ) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.doors: list[str] = []
        self.life = Life(
            1,
            CLIENTS,
            workload or Sends(),
            lambda process: ScriptedClient(answer, self.doors),
            StepClock(),
            lambda *row: self.rows.append(row),
        )

    def load(self, length_ns: int, interval_ns: int = 0) -> None:
        async def main() -> None:
            await self.life.open()
            await self.life.load(0, length_ns, interval_ns)

        asyncio.run(main())

    def drain(self, ends: dict[str, int], deadline_ns: int) -> dict[str, int]:
        left = self.left(ends, deadline_ns)
        assert not left.questions
        return dict(left.records)

    def left(self, ends: dict[str, int], deadline_ns: int) -> Left:
        async def main() -> Left:
            await self.life.open()
            return await self.life.drain(ends, deadline_ns)

        return asyncio.run(main())


def ok(invocation: Invocation) -> Completion:
    if invocation.f == "end-offsets":
        return Completion("ok", {"low": {}, "high": {}})
    return Completion("ok", invocation.value)


def test_each_operation_is_written_down_before_and_after() -> None:
    story = Story(ok)
    story.load(100 * STEP_NS)
    types = [row[2] for row in story.rows]
    assert types[::2] == ["invoke"] * len(types[::2])
    assert types[1::2] == ["ok"] * len(types[1::2])
    times = [row[0] for row in story.rows]
    assert times == sorted(times)
    assert story.rows[0][3] == "assign"
    sent = [row[4][0][2] for row in story.rows if row[3] == "send" and row[2] == "invoke"]
    assert sent == list(range(len(sent)))
    assert len(sent) > 10


def test_a_process_that_does_not_know_retires_and_its_number_is_never_used_again() -> None:
    def unsure(invocation: Invocation) -> Completion:
        if invocation.f == "send" and invocation.value[0][2] % 3 == 2:
            return Completion("info", invocation.value, "TIMED_OUT: no answer")
        return ok(invocation)

    story = Story(unsure)
    story.load(100 * STEP_NS)
    ended_at = {row[1]: at for at, row in enumerate(story.rows) if row[2] == "info"}
    assert len(ended_at) > 2
    for process, at in ended_at.items():
        assert all(row[1] != process for row in story.rows[at + 1 :])
        assert process % CLIENTS == 1
    assert story.doors[:3] == ["open", "close", "open"]
    # The one that comes after assigns first, and sends nothing twice.
    sent = [row[4][0][2] for row in story.rows if row[3] == "send" and row[2] == "invoke"]
    assert len(sent) == len(set(sent))


def test_a_failure_that_is_certain_does_not_end_the_process() -> None:
    story = Story(
        lambda invocation: (
            ok(invocation)
            if invocation.f == "assign"
            else Completion("fail", invocation.value, "MESSAGE_TOO_LARGE: no")
        )
    )
    story.load(50 * STEP_NS)
    assert {row[1] for row in story.rows} == {1}


def test_operations_keep_their_distance() -> None:
    story = Story(ok)
    story.load(1000 * STEP_NS, interval_ns=100 * STEP_NS)
    begun = [row[0] for row in story.rows if row[3] == "send" and row[2] == "invoke"]
    assert 8 <= len(begun) <= 10
    assert all(b - a >= 100 * STEP_NS for a, b in pairwise(begun))


def test_reading_back_goes_on_until_every_end_was_reached() -> None:
    records = iter([[[0, 5], [1, 6]], [], [[2, 7]], [[3, 8]]])

    def poll(invocation: Invocation) -> Completion:
        if invocation.f == "poll":
            return Completion("ok", [["poll", {"t-0": next(records)}]])
        return ok(invocation)

    story = Story(poll)
    assert story.drain({"t-0": 3}, 10_000 * STEP_NS) == {"t-0": 0}
    assert next(records) == [[3, 8]]


def test_what_was_not_reached_in_time_is_told() -> None:
    def nothing(invocation: Invocation) -> Completion:
        if invocation.f == "poll":
            return Completion("ok", [["poll", {}]])
        return ok(invocation)

    story = Story(nothing)
    ends = {"t-0": 3, "t-1": 0, "other-0": 9}
    left = story.drain(ends, 100 * STEP_NS)
    assert left == {"t-0": 3, "t-1": 0}
    assert unsettled([Left(left)], ends).unread == {"t-0": 3, "other-0": None}


def test_a_stop_that_came_too_late_for_the_load_does_not_end_the_reading() -> None:
    records = iter([[[0, 5]]])

    def poll(invocation: Invocation) -> Completion:
        if invocation.f == "poll":
            return Completion("ok", [["poll", {"t-0": next(records)}]])
        return ok(invocation)

    story = Story(poll)
    story.life.stop()
    assert story.drain({"t-0": 1}, 10_000 * STEP_NS) == {"t-0": 0}


def test_one_reader_at_the_end_is_enough() -> None:
    left = [Left({"t-0": 3, "t-1": 1}), Left({"t-0": 0})]
    assert unsettled(left, ["t-0", "t-1"]).unread == {"t-1": 1}


def test_what_was_acknowledged_beyond_the_end_of_a_log_is_not_waited_for() -> None:
    """It is gone, and a checker will say so."""

    def short(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            return Completion("ok", {"low": {"t-0": 0}, "high": {"t-0": 1}})
        if invocation.f == "poll":
            return Completion("ok", [["poll", {"t-0": [[0, 5]]}]])
        return ok(invocation)

    assert Story(short).drain({"t-0": 9}, 10_000 * STEP_NS) == {"t-0": 0}


def test_a_reader_that_gets_nowhere_is_opened_anew_where_it_stood() -> None:
    assigned: list[Any] = []
    polls = iter([[[0, 5]], None, [[1, 6], [2, 7]]])

    def stuck(invocation: Invocation) -> Completion:
        if invocation.f == "assign":
            assigned.append(invocation.value)
        if invocation.f != "poll":
            return ok(invocation)
        found = next(polls)
        if found is None:
            return Completion("info", [["poll"]], "TIMED_OUT: no")
        return Completion("ok", [["poll", {"t-0": found}]])

    story = Story(stuck)
    assert story.drain({"t-0": 3}, 10_000 * STEP_NS) == {"t-0": 0}
    assert assigned == [{"t-0": 0}, {"t-0": 1}]


def test_reading_back_goes_as_far_as_the_log_does() -> None:
    """A send that nobody is sure of may lie beyond all that was acknowledged."""
    records = iter([[[0, 5]], [[1, 6]]])

    def beyond(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            return Completion("ok", {"low": {"t-0": 0}, "high": {"t-0": 2}})
        if invocation.f == "poll":
            return Completion("ok", [["poll", {"t-0": next(records)}]])
        return ok(invocation)

    story = Story(beyond)
    assert story.drain({"t-0": 1}, 10_000 * STEP_NS) == {"t-0": 0}
    assert next(records, None) is None


def test_where_logs_begin_and_end_is_asked_again_when_they_are_read() -> None:
    """What retention deletes meanwhile is not lost."""
    lows = iter([1, 3])

    def moving(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            return Completion("ok", {"low": {"t-0": next(lows)}, "high": {"t-0": 4}})
        if invocation.f == "poll":
            return Completion("ok", [["poll", {"t-0": [[3, 5]]}]])
        return ok(invocation)

    story = Story(moving)
    assert story.drain({"t-0": 4}, 10_000 * STEP_NS) == {"t-0": 0}
    did = [(row[3], row[4]) for row in story.rows if row[2] == "ok"]
    assert [f for f, _ in did] == ["end-offsets", "assign", "poll", "end-offsets"]
    assert did[1][1] == {"t-0": 1}, "from where it begins"
    assert next(lows, None) is None


def test_a_log_that_was_deleted_to_its_end_is_read_back() -> None:
    def empty(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            return Completion("ok", {"low": {"t-0": 4}, "high": {"t-0": 4}})
        assert invocation.f != "poll"
        return ok(invocation)

    assert Story(empty).drain({"t-0": 4}, 10_000 * STEP_NS) == {"t-0": 0}


def test_an_end_that_is_not_told_yet_is_asked_for_again() -> None:
    """A leader that is new may not know it; what was appended without an offset lies before it."""
    answers = iter(["fail", "info", "ok", "ok"])

    def late(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            type_ = next(answers)
            if type_ == "ok":
                return Completion("ok", {"low": {"t-0": 0}, "high": {"t-0": 1}})
            return Completion("fail" if type_ == "fail" else "info", None, "NOT_LEADER: no")
        if invocation.f == "poll":
            return Completion("ok", [["poll", {"t-0": [[0, 5]]}]])
        return ok(invocation)

    assert Story(late).drain({"t-0": 0}, 10**12) == {"t-0": 0}
    assert next(answers, None) is None


def test_without_any_end_nothing_counts_as_read_back() -> None:
    def silent(invocation: Invocation) -> Completion:
        if invocation.f == "end-offsets":
            return Completion("fail", None, "NOT_LEADER_OR_FOLLOWER: no")
        return ok(invocation)

    left = Story(silent).drain({"t-0": 0}, 10_000 * STEP_NS)
    assert left == {}
    assert unsettled([Left(left)], ["t-0"]).unread == {"t-0": None}


def test_last_of_all_the_workload_has_its_questions() -> None:
    story = Story(ok, Asks())
    assert story.drain({"t-0": 5}, 10**12) == {}
    asked = [row[4]["topic"] for row in story.rows if row[2] == "invoke"]
    assert asked == ["1-0-0", "1-0-1"]
    assert story.rows[0][0] >= 10**9, "what one broker was told needs a moment"


def test_a_last_question_is_asked_again_until_it_is_answered() -> None:
    answers = [*[Completion("fail")] * 4, Completion("info"), Completion("ok"), Completion("ok")]
    story = Story(lambda _: answers.pop(0), Asks())
    assert story.drain({}, 10**12) == {}
    asked = [row[4]["topic"] for row in story.rows if row[2] == "invoke"]
    assert asked == ["1-0-0"] * 6 + ["1-0-1"]
    assert story.doors == ["open", "close", "open"], "who does not know never speaks again"


def test_a_last_question_without_an_answer_is_told() -> None:
    def half(invocation: Invocation) -> Completion:
        is_known = invocation.value["topic"] == "1-0-0"
        return Completion("ok" if is_known else "fail", invocation.value)

    left = Story(half, Asks()).left({}, 10**11)
    assert left == Left({}, ['describe {"topic": "1-0-1"}'])
    assert unsettled([left, Left({}), left], []).unanswered == left.questions


def test_no_question_is_asked_when_the_time_is_up() -> None:
    story = Story(ok, Asks())
    assert len(story.left({}, 10**8).questions) == 2
    assert not story.rows
