"""Publishes the history of a run to a topic while the run goes on: docs/reference/history.md.

A row is encoded when it is recorded, because its value may change later, and passed to librdkafka,
whose threads send it. The queue of librdkafka is bounded. A broker that is down or slow costs rows
of the topic and never delays the run: a row for which the queue has no room is counted and left
out. Rows are numbered, so a reader sees the gap. All records of a run have the same key, so they
are in one partition, in order. The producer is idempotent, so no record is there twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from harness.history.json_text import encode
from harness.history.jsonl import fields_of
from harness.history.op import Op
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.store.results import Figures

_QUEUE_ROWS_MAX: Final = 100_000
_QUEUE_KB_MAX: Final = 65_536
_LAST_ROWS_WITHIN_S: Final = 5.0
_LATE: Final = "the broker had not taken them when the run ended"
_NO_ROOM: Final = "the queue was full"


class HistoryTopic:
    """The topic as one run sees it. No method raises because of the broker."""

    def __init__(self, plan: Plan, directory: Path, where: str) -> None:
        from confluent_kafka import Producer

        self.where = where
        self._run = f"{plan.name}/{directory.name}"
        self._topic, _, bootstrap = where.partition("@")
        self._rows = 0
        self._failed: Counter[str] = Counter()
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._admin = _creating(self._topic, settings)
        self._producer = Producer(
            {
                **settings,
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": 20,
                "queue.buffering.max.messages": _QUEUE_ROWS_MAX,
                "queue.buffering.max.kbytes": _QUEUE_KB_MAX,
                "message.timeout.ms": 60_000,
                "message.max.bytes": 8_000_000,
            }
        )
        self._send("plan", {"plan": plan.text()})

    def row(self, op: Op) -> None:
        self._rows += 1
        self._send("row", fields_of(op))

    def note_in(self, figures: Figures) -> None:
        """Add the counts of published rows to the figures, after the last row.

        Waits some seconds for records under way.
        """
        self._producer.flush(_LAST_ROWS_WITHIN_S)
        if figures:  # empty figures mean that the run did not end
            figures["history_topic"] = {
                "topic": self.where,
                "rows": self._rows,
                "not_published": self._not_published,
                "why": next(iter(self._failed), _LATE if self._not_published else None),
            }

    def end(self, verdict: str, why: str | None = None) -> None:
        """Publish the last record. Its `rows` shows a reader that rows are missing at the end."""
        self._send("end", {"rows": self._rows, "verdict": verdict, "why": why})
        # If the rows before it were not delivered by now, this record will not be either.
        self._producer.flush(1.0 if self._not_published else _LAST_ROWS_WITHIN_S)
        self._producer.purge()
        self._producer.flush(1.0)

    @property
    def _not_published(self) -> int:
        return self._failed.total() + len(self._producer)

    def _send(self, record: str, fields: dict[str, Any]) -> None:
        text = encode({"run": self._run, "record": record, **fields})
        try:
            self._producer.produce(
                self._topic, text.encode(), key=self._run, on_delivery=self._delivered
            )
        except BufferError:
            self._failed[_NO_ROOM] += 1
        except Exception as error:
            # The record is too large, or the producer has a fatal error.
            self._failed[_message(error)] += 1
        self._producer.poll(0)

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._failed[str(error.str())] += 1


@contextmanager
def publishing(plan: Plan, directory: Path) -> Iterator[HistoryTopic | None]:
    """The topic of the plan, or None. The end of a run that raises is published, too."""
    if plan.history_topic is None:
        yield None
        return
    topic = HistoryTopic(plan, directory, plan.history_topic)
    try:
        yield topic
    except BaseException as error:
        topic.end("unknown", f"{type(error).__name__}: {error}")
        raise


def note_unpublished(topic: HistoryTopic | None, figures: Figures) -> None:
    if topic is not None:
        topic.note_in(figures)


def tell_end(topic: HistoryTopic | None, outcome: Outcome) -> None:
    if topic is not None:
        topic.end(outcome.validity.value)


def _creating(topic: str, settings: dict[str, Any]) -> Any:
    """Ask the broker to create the topic with its defaults, if it does not exist.

    It does not wait for the answer: the producer waits for the topic in the background.
    """
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient(settings)
    with suppress(Exception):
        admin.create_topics([NewTopic(topic, -1, -1)])
    return admin


def _message(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(inner)
