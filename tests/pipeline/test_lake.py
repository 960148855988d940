"""The lake: what is visible, what is removed, and schemas of other versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.errors import EnvironmentFailure, UsageFailure
from pipeline import lake as lake_module
from pipeline.compaction import compact
from pipeline.ingest import ingest
from pipeline.lake import Lake, Migration
from pipeline.reading.listing import named
from pipeline.schema import DATED, TABLES
from tests.pipeline.made_store import stored_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

Reopened = Callable[[Lake], Lake]


def add(lake: Lake, *kinds: str) -> str:
    """A batch of doubts."""
    batch = lake.new_batch()
    rows = [
        dict.fromkeys(DATED["doubts"].names) | {"run": "r", "kind": kind, "date": None}
        for kind in kinds
    ]
    table = pa.Table.from_pylist(rows, schema=DATED["doubts"])
    lake.write("doubts", lake.spark.createDataFrame(table), batch)
    return batch


def kinds(lake: Lake) -> list[str]:
    return sorted(row["kind"] for row in lake.table("doubts").collect())


def test_a_batch_is_visible_once_it_is_committed(lake: Lake, reopened: Reopened) -> None:
    batch = add(lake, "one")
    assert kinds(reopened(lake)) == []
    lake.commit("check", adds=[batch])
    other = reopened(lake)
    second = add(lake, "two", "three")
    lake.commit("check", adds=[second], hides=[("doubts", batch, "r")])
    assert (kinds(lake), kinds(other)) == (["three", "two"], ["one"])
    with pytest.raises(EnvironmentFailure, match="changed by another command"):
        other.commit("check", adds=[add(other, "four")])


def test_batches_of_dead_writers_are_removed_and_those_of_living_ones_are_not(
    lake: Lake, reopened: Reopened
) -> None:
    dead, living = add(lake, "dead"), add(lake, "living")
    (Path(lake.root) / "_writing" / dead).unlink()
    assert lake.collect_garbage() == [dead]
    assert [each.name for each in (Path(lake.root) / "doubts").iterdir()] == [f"batch={living}"]
    lake.commit("check", adds=[living])
    assert kinds(reopened(lake)) == ["living"]


def test_compaction_keeps_every_row_that_is_visible(lake: Lake, tmp_path: Path) -> None:
    for number in range(3):
        stored_run(tmp_path / "store", number)
        ingest(lake, named([tmp_path / "store"]), model="kafka")
    hidden = next(iter(lake.snapshot.batches))
    run = lake.table("runs").where(f"batch = '{hidden}'").collect()[0]["run"]
    lake.commit("check", hides=[("doubts", hidden, run)])
    before = content(lake)
    done = compact(lake)
    assert (done.batches, len(done.removed), len(lake.snapshot.batches)) == (3, 3, 1)
    assert content(lake) == before
    assert lake.snapshot.hidden == frozenset()
    assert len([*Path(lake.root).glob("operations/batch=*")]) == 1
    assert compact(lake).batches == 0, "nothing is left to do"


def content(lake: Lake) -> dict[str, list[str]]:
    return {
        name: sorted(str(row) for row in lake.table(name).drop("batch").collect())
        for name in TABLES
    }


def test_an_older_lake_is_migrated_when_it_is_read(
    lake: Lake, reopened: Reopened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the schema of version 0 doubts had no `detail`, and `kind` was a number called `code`."""
    batch = lake.new_batch()
    directory = Path(lake.root) / "doubts" / f"batch={batch}" / "date=2026-11-16"
    older = lake.spark.createDataFrame([("r", 7, "n1", "it is")], "run string, code int, "
                                       "subject string, sentence string")  # fmt: skip
    older.write.parquet(str(directory))
    lake.commit("ingest", adds=[batch])
    entry = next(Path(lake.root).glob("_log/*.json"))
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"version": 0}))

    def upgrade(name: str, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        if name != "doubts":
            return rows
        return rows.withColumn("kind", F.concat(F.lit("kind-"), F.col("code")))

    migration = Migration(older={"doubts": pa.schema([("code", pa.int32())])}, upgrade=upgrade)
    monkeypatch.setattr(lake_module, "MIGRATIONS", {0: migration})
    found = reopened(lake)
    second = add(found, "new")
    found.commit("ingest", adds=[second])
    rows = found.table("doubts").orderBy("kind").collect()
    assert [(row["kind"], row["subject"], row["detail"]) for row in rows] == [
        ("kind-7", "n1", None),
        ("new", None, None),
    ]
    assert rows[0]["date"].isoformat() == "2026-11-16"


def test_a_newer_lake_is_refused(lake: Lake, reopened: Reopened) -> None:
    lake.commit("ingest", adds=[add(lake, "one")])
    entry = next(Path(lake.root).glob("_log/*.json"))
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"version": 99}))
    with pytest.raises(UsageFailure, match="newer version"):
        reopened(lake).table("runs")


def test_a_damaged_or_missing_entry_is_refused_by_name(lake: Lake, reopened: Reopened) -> None:
    """To go on without it would give wrong answers, and the next ingest would remove its files."""
    for kind in ("one", "two"):
        lake.commit("ingest", adds=[add(lake, kind)])
    first, second = sorted(Path(lake.root).glob("_log/*.json"))
    (first.parent / "000000000001.json~").write_text("of an editor")
    text = second.read_text()
    second.write_text("")
    assert kinds(reopened(lake)) == ["one"], "its writer was killed before it wrote anything"
    second.write_text(text[:-9])
    with pytest.raises(EnvironmentFailure, match="json is damaged"):
        reopened(lake)
    second.write_text(text)
    first.unlink()
    with pytest.raises(EnvironmentFailure, match="lacks entry 0"):
        reopened(lake)


@pytest.mark.parametrize("name", ["a*", "a[1]", "a{b,c}", "a?"])
def test_a_name_that_hadoop_takes_for_a_pattern_is_refused(lake: Lake, name: str) -> None:
    with pytest.raises(UsageFailure, match="name the lake without them"):
        Lake(lake.spark, f"{lake.root}{name}")


def test_an_empty_lake_says_what_fills_it(lake: Lake) -> None:
    with pytest.raises(UsageFailure, match="harness lake ingest fills it"):
        lake.require()
