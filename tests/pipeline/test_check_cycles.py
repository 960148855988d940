"""Histories of lists that the lake judges in parts have the verdicts of the local engine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

from bench.checker_histories import list_history as long_list_history
from checkers.models import Question, judge
from harness.history import kinds
from harness.history.history import PARQUET, History
from harness.history.op import Op, OpType
from pipeline.check.job import judge_runs
from pipeline.ingest import ingest
from pipeline.lake import Lake
from pipeline.reading.listing import named
from tests.pipeline.test_check import differences, in_lake, local, stored
from tests.property.list_histories import ListPlay, list_history, many_aborted
from tests.property.txn_histories import txn_history

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

LIST_APPEND = "list-append"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that even a small history has several of each sort."""
    monkeypatch.setattr("pipeline.check.cycles.job.PART", 300)
    monkeypatch.setattr("pipeline.check.cycles.moments.BUCKET", 50)


def generated(count: int) -> Iterable[History]:
    for seed in range(count):
        dice = Random(seed)
        bent = txn_history(dice, lists=True, bend=0.6) if seed % 4 == 3 else list_history(dice)
        yield History.of(bent)


def in_parts(lake: Lake, histories: Iterable[History], directory: Path) -> list[str]:
    """Differences to the local engine; no history is judged whole."""
    mine = stored((each for each in histories if len(each.elements)), directory)
    ingest(lake, named([directory]), model=LIST_APPEND)
    checked = judge_runs(lake, whole_max=0)
    assert checked.uncut == {}
    assert len(checked.verdicts) == len(mine)
    return differences(lake, mine, LIST_APPEND)


def eventful() -> History:
    """With cycles, of the data alone and with the order of processes, reads that disagree and reads
    that contradict their own operation; its lists have the same values."""
    return History.of(ListPlay(Random(239), count=150, keys=12, at_once=5, bend=0.012).play())


@pytest.mark.slow
def test_a_history_of_lists_is_judged_in_parts(lake: Lake, tmp_path: Path) -> None:
    assert in_parts(lake, [eventful()], tmp_path / "histories") == []


@pytest.mark.slow
def test_the_first_of_many_aborted_reads_are_told(lake: Lake, tmp_path: Path) -> None:
    assert in_parts(lake, [many_aborted()], tmp_path / "histories") == []


def planted(transactions: int) -> History:
    """A long orderly history, and late in it a read that lacks what was appended before it began,
    one with two values in another order, and one of a value whose append failed."""
    tables = long_list_history(transactions)
    elements, ops = tables.elements, tables.ops
    row, kind = elements["op"].to_numpy(), elements["kind"].to_numpy()
    value = elements["value"].fill_null(-1).to_numpy().copy()
    is_kept = np.ones(row.size, np.bool_)
    reads = np.flatnonzero((kind == kinds.READ_ELEMENT) & (row > 0.9 * len(ops)))
    last, size = np.unique(row[reads][::-1], return_index=True)[0], np.bincount(row[reads])
    stale, bent, dirty = (int(op) for op in last[size[last] > 12][[10, 20, 30]])
    is_kept[np.flatnonzero((row == stale) & (kind == kinds.READ_ELEMENT))[-6:]] = False
    one, other = np.flatnonzero((row == bent) & (kind == kinds.READ_ELEMENT))[3:5]
    value[[one, other]] = value[[other, one]]
    failed = value[np.flatnonzero((row == dirty) & (kind == kinds.READ_ELEMENT))[5]]
    ends = row[(kind == kinds.APPEND) & (value == failed)].max()
    types = ops["type"].to_pylist()
    types[ends] = "fail"
    at = ops.schema.get_field_index("type")
    ops = ops.set_column(at, ops.schema.field("type"), pa.array(types).cast(ops["type"].type))
    at = elements.schema.get_field_index("value")
    elements = elements.set_column(
        at, elements.schema.field("value"), pa.array(value, mask=value < 0)
    )
    return History(tables._replace(ops=ops, elements=elements.filter(pa.array(is_kept))))


@pytest.mark.slow
def test_a_long_history_of_lists_is_judged_in_parts(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.check.cycles.job.PART", 100_000)
    monkeypatch.setattr("pipeline.check.cycles.moments.BUCKET", 10_000)
    history = planted(16_384)
    assert len(history.elements) > 300_000
    history.write_parquet(tmp_path / "long" / PARQUET)
    ingest(lake, named([tmp_path / "long"]), model=LIST_APPEND)
    checked = judge_runs(lake, whole_max=100_000)
    assert checked.uncut == {}
    (found,) = in_lake(lake).values()
    assert found == local(judge(history, LIST_APPEND, Question()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "limit", "why"),
    [
        ("pipeline.check.cycles.job.LIST_MAX", 10, "more than 10 of its elements are about one"),
        ("pipeline.check.cycles.job.KEPT_MAX", 10, "more than 10 of its elements may be named"),
        ("pipeline.check.cycles.moments.WINDOW_MAX", 1, "of its operations may be in one cycle"),
    ],
)
def test_a_history_that_is_too_much_for_one_task_is_judged_whole(
    lake: Lake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    limit: int,
    why: str,
) -> None:
    monkeypatch.setattr(where, limit)
    histories = stored([eventful()], tmp_path / "histories")
    ingest(lake, named([tmp_path / "histories"]), model=LIST_APPEND)
    (said,) = judge_runs(lake, whole_max=0).uncut.values()
    assert why in said
    assert differences(lake, histories, LIST_APPEND) == []


@pytest.mark.slow
def test_processes_that_do_several_things_at_once_are_judged_whole(
    lake: Lake, tmp_path: Path
) -> None:
    """Of four rows of one process the second and the third belong together; without these the first
    and the last would."""
    types: tuple[OpType, ...] = ("invoke", "invoke", "ok", "ok")
    rows = [Op(at, at, 0, each, "txn", [["append", "x", at]]) for at, each in enumerate(types)]
    stored([History.of(rows)], tmp_path / "histories")
    ingest(lake, named([tmp_path / "histories"]), model=LIST_APPEND)
    (said,) = judge_runs(lake, whole_max=0).uncut.values()
    assert "before its last one had ended" in said


@pytest.mark.slow
@pytest.mark.sweep
def test_thirty_histories_of_lists_are_judged_in_parts(lake: Lake, tmp_path: Path) -> None:
    """Ten at a time: the session of tests has little memory, and each history has its own plans."""
    histories = stored((each for each in generated(30) if len(each.elements)), tmp_path / "all")
    ingest(lake, named([tmp_path / "all"]), model=LIST_APPEND)
    lake.refresh()
    runs = [row["run"] for row in lake.table("runs").select("run").collect()]
    for first in range(0, len(runs), 10):
        checked = judge_runs(lake, runs[first : first + 10], whole_max=0)
        assert checked.uncut == {}
        lake.refresh()
    assert differences(lake, histories, LIST_APPEND) == []
