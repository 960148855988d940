"""What a cluster claims and does not keep is found by the workload that is there for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from harness.client.driver import DriverError, Stored, ToStore
from harness.native.driver import NativeDriver
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.watching import Silent
from harness.store.store import Store


def run(tmp_path: Path, **wanted: Any) -> Outcome:
    plan = Plan(on="sim", seed=3, nodes=3, concurrency=3, rate=60.0, time_limit_s=5.0, **wanted)
    return execute(plan, Store(tmp_path), Silent())


def test_an_append_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, numbers = NativeDriver.produce, count()

    async def produce(self: NativeDriver, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        return [Stored(0)] if next(numbers) % 50 == 49 else await keep(self, records)

    monkeypatch.setattr(NativeDriver, "produce", produce)
    outcome = run(tmp_path, workload="append")
    assert outcome.exit_code == 1
    types = {each.type for each in outcome.anomalies}
    assert "lost-append" in types
    assert types & {"G0-process", "G0-realtime"}, "it was read past, too"


def test_a_value_that_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, before = NativeDriver.produce, dict[Any, Any]()

    async def produce(self: NativeDriver, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        stored = await keep(self, records)
        (record,) = records
        if record.payload is not None and record.place in before:
            await keep(self, [record._replace(payload=before[record.place])])
        before[record.place] = record.payload or before.get(record.place)
        return stored

    monkeypatch.setattr(NativeDriver, "produce", produce)
    outcome = run(tmp_path, workload="register")
    assert outcome.exit_code == 1
    assert "replaced-get" in {each.type for each in outcome.anomalies}


def test_a_topic_that_nobody_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def delete(self: NativeDriver, topic: str) -> None:
        pass

    monkeypatch.setattr(NativeDriver, "delete_topic", delete)
    outcome = run(tmp_path, workload="admin")
    assert outcome.exit_code == 1
    assert {each.type for each in outcome.anomalies} == {"lost-change"}
