"""What a run publishes of its history, with a producer that keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.history.op import Op
from harness.run.history_topic import HistoryTopic, publishing
from harness.run.plan import Plan
from harness.store.results import Figures

PLAN = Plan(workload="queue", nemesis="kill", on="sim", history_topic="history@127.0.0.1:1")
DIRECTORY = Path("store/queue kill/20261118T201310.023Z")


class Producer:
    """Keeps what it is given; `room` records at most, and delivers when it is polled."""

    def __init__(self, room: int = 1000, error: Any = None) -> None:
        self.room = room
        self.error = error
        self.taken: list[tuple[str, str, dict[str, Any]]] = []
        self._waiting: list[Callable[[Any, Any], None]] = []
        self.is_away = False

    def __len__(self) -> int:
        return len(self._waiting)

    def produce(
        self, topic: str, value: bytes, key: str, on_delivery: Callable[[Any, Any], None]
    ) -> None:
        if len(self.taken) >= self.room:
            raise BufferError("Local: Queue full")
        self.taken.append((topic, key, json.loads(value)))
        self._waiting.append(on_delivery)

    def poll(self, timeout: float) -> None:
        while self._waiting and not self.is_away:
            self._waiting.pop()(self.error, None)

    def flush(self, timeout: float) -> None:
        self.poll(timeout)

    def purge(self) -> None:
        self._waiting.clear()


class Refused:
    def str(self) -> str:
        return "Broker: Unknown topic"


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    made = Producer()
    monkeypatch.setattr("confluent_kafka.Producer", lambda _: made)
    monkeypatch.setattr("harness.run.history_topic._creating", lambda *_: None)
    return made


def row(number: int) -> Op:
    return Op(number, 10 * number, 0, "invoke", "send", [["send", "x-0", number]])


def counted(topic: HistoryTopic) -> Any:
    figures: Figures = {"ok": 1}
    topic.note_in(figures)
    return figures["history_topic"]


def test_rows_are_numbered_between_the_plan_and_the_verdict(producer: Producer) -> None:
    topic = HistoryTopic(PLAN, DIRECTORY, "history@127.0.0.1:1")
    topic.row(row(0))
    topic.row(row(1))
    assert counted(topic)["not_published"] == 0
    topic.end("valid")

    run = "queue kill/20261118T201310.023Z"
    assert {(name, key) for name, key, _ in producer.taken} == {("history", run)}
    plan, first, second, end = (value for _, _, value in producer.taken)
    assert Plan.of_json(plan["plan"], Path("plan.json")) == PLAN
    assert first == {
        "run": run,
        "record": "row",
        "index": 0,
        "time": 0,
        "process": 0,
        "type": "invoke",
        "f": "send",
        "value": [["send", "x-0", 0]],
    }
    assert second["index"] == 1
    assert end == {"run": run, "record": "end", "rows": 2, "verdict": "valid", "why": None}


def test_rows_without_room_are_counted_and_the_numbers_show_them(producer: Producer) -> None:
    topic = HistoryTopic(PLAN, DIRECTORY, "history@127.0.0.1:1")
    topic.row(row(0))
    producer.room = 2
    topic.row(row(1))
    producer.room = 1000
    topic.row(row(2))
    assert [value["index"] for _, _, value in producer.taken[1:]] == [0, 2]
    assert counted(topic) == {
        "topic": "history@127.0.0.1:1",
        "rows": 3,
        "not_published": 1,
        "why": "the queue was full",
    }


def test_rows_that_the_broker_refuses_are_counted_with_its_reason(producer: Producer) -> None:
    producer.error = Refused()
    topic = HistoryTopic(PLAN, DIRECTORY, "history@127.0.0.1:1")
    topic.row(row(0))
    found = counted(topic)
    assert (found["not_published"], found["why"]) == (2, "Broker: Unknown topic")


def test_rows_that_wait_for_a_broker_that_is_away_are_counted(producer: Producer) -> None:
    producer.is_away = True
    topic = HistoryTopic(PLAN, DIRECTORY, "history@127.0.0.1:1")
    topic.row(row(0))
    assert counted(topic)["not_published"] == 2
    topic.end("valid")
    assert len(producer) == 0


def test_a_run_without_figures_gets_none(producer: Producer) -> None:
    figures: Figures = {}
    HistoryTopic(PLAN, DIRECTORY, "history@127.0.0.1:1").note_in(figures)
    assert figures == {}


def test_a_run_that_raises_has_ended_in_the_topic(producer: Producer) -> None:
    with pytest.raises(OSError, match="no room"), publishing(PLAN, DIRECTORY):
        raise OSError("no room")
    assert producer.taken[-1][2]["why"] == "OSError: no room"
    assert producer.taken[-1][2]["verdict"] == "unknown"


def test_a_plan_without_a_topic_publishes_nothing(producer: Producer) -> None:
    with publishing(Plan(), DIRECTORY) as topic:
        assert topic is None
    assert producer.taken == []
