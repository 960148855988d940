"""The status of a run, from the records of its topic so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.run.plan import Plan
from pipeline.live.status import Status, status_of, status_or_why

RUN = "queue kill/20261118T201310.023Z"
PLAN = Plan(workload="queue", nemesis="kill", on="sim")


def record(kind: str, **fields: Any) -> str:
    return json.dumps({"run": RUN, "record": kind, **fields})


def row(index: int, process: int | str, type_: str, f: str, value: Any) -> str:
    line = {"time": index * 10**9, "process": process, "type": type_, "f": f, "value": value}
    return record("row", index=index, **line)


def of(*rows: str, plan: str | None = None, ended: int | None = None) -> Status:
    records = [record("plan", plan=plan or PLAN.text()), *rows]
    if ended is not None:
        records.append(record("end", rows=ended, verdict="valid", why=None))
    return status_of(RUN, records)


SENT = (
    row(0, 0, "invoke", "send", [["send", "x-0", 1]]),
    row(1, 0, "ok", "send", [["send", "x-0", [0, 1]]]),
    row(2, 0, "invoke", "send", [["send", "x-0", 2], ["send", "x-1", 3]]),
    row(3, 0, "ok", "send", [["send", "x-0", [1, 2]], ["send", "x-1", [4, 3]]]),
)


def polled(first: int, records: dict[str, list[Any]]) -> Sequence[str]:
    return (
        row(first, 1, "invoke", "poll", [["poll"]]),
        row(first + 1, 1, "ok", "poll", [["poll", records]]),
    )


def test_what_is_acknowledged_and_not_polled_is_unread_by_partition() -> None:
    found = of(*SENT, *polled(4, {"x-0": [[0, 1]]}))
    assert (found.rows, found.missing, found.unread) == (6, 0, 6)
    assert found.lag == {"x-0": 1, "x-1": 5}
    assert (found.time_s, found.verdict, found.anomalies) == (5.0, None, ())


def test_a_record_that_comes_twice_or_late_counts_once() -> None:
    rows = (*SENT, *polled(4, {"x-0": [[0, 1]]}))
    assert of(*rows, *reversed(rows)) == of(*rows)


def test_an_anomaly_that_nothing_can_explain_stands() -> None:
    found = of(*SENT, *polled(4, {"x-0": [[0, 99]]}))
    assert found.anomalies
    assert any("99" in each for each in found.anomalies)


def test_a_record_that_nobody_has_read_yet_is_no_anomaly() -> None:
    assert of(*SENT).anomalies == ()


@pytest.mark.parametrize("without", [0, 2, 3])
def test_with_a_row_missing_the_anomalies_are_unknown(without: int) -> None:
    rows = [each for number, each in enumerate(SENT) if number != without]
    found = of(*rows, ended=len(SENT))
    assert (found.rows, found.missing, found.anomalies) == (3, 1, None)
    assert found.why == "1 rows are not in the topic"
    assert found.verdict == "valid"


def test_rows_may_still_come_behind_the_last_one_until_the_run_has_ended() -> None:
    assert of(*SENT[:3]).missing == 0
    assert of(*SENT[:3], ended=4).missing == 1


def test_without_a_plan_the_anomalies_are_unknown() -> None:
    found = status_of(RUN, SENT)
    assert (found.anomalies, found.unread) == (None, 7)
    assert of(*SENT, plan="{}").anomalies is None


def test_faults_are_in_force_until_they_are_healed() -> None:
    begun = row(0, "nemesis", "info", "start-kill", {"name": "kill-1", "node": "n3"})
    held = row(1, "nemesis", "info", "held-kill", {"fault": "kill-1", "proof": "it is gone"})
    healed = row(2, "nemesis", "info", "heal-kill", {"fault": "kill-1", "healed": True})
    assert len(of(begun, held).faults) == 1
    assert of(begun, held, healed).faults == ()


def test_records_of_another_program_stop_nothing() -> None:
    for text in ("hello", "[1]", record("row", index="x"), record("plan")):
        found = status_or_why(RUN, [text], [7])
        assert (found.anomalies, found.batches) == (None, (7,))
        assert found.why


def test_a_status_is_itself_as_text() -> None:
    found = of(*SENT, *polled(4, {"x-0": [[0, 99]]}))
    assert Status.of_text(found.text()).text() == found.text()
