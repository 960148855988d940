"""What a run is called, and when it counts as another one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from checkers.verdict import Validity
from harness.errors import UsageFailure
from harness.history.history import History
from harness.history.jsonl import write_jsonl
from harness.run.plan import Plan
from pipeline.reading.listing import Listed, listed, named, stored
from pipeline.reading.work import Whole
from tests.pipeline.made_store import ops, results, stored_run, write_results


def found(*places: Path) -> Listed:
    return listed(named(places))


def test_a_run_has_one_name_wherever_it_is_and_whatever_its_directory_is_called(
    tmp_path: Path,
) -> None:
    run = stored_run(tmp_path / "store")
    shutil.copytree(run, tmp_path / "interesting")
    shutil.copytree(tmp_path / "store", tmp_path / "elsewhere" / "store")
    names = {
        (source.run, source.fingerprint)
        for place in (tmp_path / "store", tmp_path / "interesting", tmp_path / "elsewhere")
        for source in found(place).sources
    }
    assert len(names) == 1
    assert next(iter(names))[0].startswith("queue kill/20261116T001500.000Z#")
    assert len(found(tmp_path).sources) == 1, "copies are one run"


def test_runs_of_one_moment_are_told_apart_by_their_plans(tmp_path: Path) -> None:
    one = stored_run(tmp_path / "a")
    other = stored_run(tmp_path / "b")
    (other / "plan.json").write_text(Plan(seed=7, nemesis="kill", on="sim").text())
    assert one.name == other.name
    assert len(found(tmp_path / "a", tmp_path / "b").sources) == 2


def test_a_verdict_changes_the_fingerprint_and_not_the_name(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "store")
    before = found(run).sources[0]
    write_results(run, results(run, Plan(), Validity.INVALID))
    after = found(run).sources[0]
    assert (before.run, before.fingerprint != after.fingerprint) == (after.run, True)


def test_histories_are_found_and_what_stands_beside_them_is_not(tmp_path: Path) -> None:
    jepsen = tmp_path / "jepsen" / "kafka" / "20240101T000000.000Z"
    jepsen.mkdir(parents=True)
    for name in ("history.edn", "results.edn", "test.edn"):
        (jepsen / name).write_text("{}")
    write_jsonl(History.of(ops()), tmp_path / "one.jsonl")
    History.of(ops()).write_parquet(tmp_path / "two")
    paths = named([tmp_path])
    assert {path.name for path in paths} == {"history.edn", "one.jsonl", "two"}
    assert {source.name for source in listed(paths).sources} >= {"one", "two"}


def test_a_history_is_called_after_its_content(tmp_path: Path) -> None:
    for directory in ("a", "b"):
        (tmp_path / directory).mkdir()
        write_jsonl(History.of(ops()), tmp_path / directory / "x.jsonl")
    assert len(found(tmp_path).sources) == 1
    with (tmp_path / "b" / "x.jsonl").open("a") as file:
        file.write(json.dumps({"process": 9, "type": "invoke", "f": "poll"}))
    assert len(found(tmp_path).sources) == 2


def test_places_without_anything_are_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="does not exist"):
        named([tmp_path / "nowhere"])
    with pytest.raises(UsageFailure, match="neither a run nor a history"):
        named([tmp_path])
    with pytest.raises(UsageFailure, match="has no runs"):
        stored(tmp_path)
    with pytest.raises(UsageFailure, match="is no directory"):
        stored(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["results.json", "env.json", "cluster.jsonl"])
def test_a_run_is_taken_without_a_file_that_is_a_pipe(tmp_path: Path, name: str) -> None:
    run = stored_run(tmp_path / "store")
    before = found(run).sources[0]
    (run / name).unlink()
    os.mkfifo(run / name)
    (source,) = found(run).sources
    assert source.fingerprint != before.fingerprint
    portions = {each.table: each for each in Whole(source, "kafka").portions()}
    assert not any(each.is_fatal for each in portions.values())
    assert portions["operations"].batch.num_rows == 41
    (rejected,) = portions["rejected"].batch.to_pylist()
    assert (rejected["source"], rejected["reason"]) == (str(run / name), "it is no regular file")
