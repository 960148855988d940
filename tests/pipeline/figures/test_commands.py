"""harness lake tables, trends and sql as a user types them, and the example job of the guide."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.figures.handmade_runs import KILL, stored, under_a_kill

EXAMPLE = "docs/examples/lake_report.py"
ROOT = Path(__file__).parents[3]
pytestmark = [
    *(pytest.mark.spark, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)),
]


def harness(*words: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "harness", "lake", *words, "--master", "local[2]"],
        cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a store of two releases, whose second is slower after faults, and a lake."""
    made = tmp_path_factory.mktemp("place")
    for number in range(14):
        slowness = 1 + number / 100 if number < 7 else 5 + number / 100
        head = ("a" if number < 7 else "b") * 16
        stored(made / "store", number, under_a_kill(slowness), faults=[KILL], head=head)
    harness("ingest", cwd=made)
    return made


def test_a_lake_without_figures_says_what_to_type(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "lake", tmp_path / "lake", ignore=shutil.ignore_patterns("figures"))
    done = harness("trends", cwd=tmp_path, code=254)
    assert "harness lake tables computes them" in done.stderr


def test_the_commands_of_the_guide(place: Path) -> None:
    tables = json.loads(harness("tables", "--json", cwd=place).stdout)
    assert [row["runs"] for row in tables["releases"]] == [7, 7]
    assert not list((place / "lake").glob("**/_temporary"))

    trends = harness("trends", cwd=place)
    assert trends.stdout.splitlines()[-1] == "open trends.html"
    assert "slowest client to be served after a fault" in trends.stdout
    page = (place / "trends.html").read_text()
    assert "regression" in page
    assert 'href="store/queue%20kill/20261116T002800.000Z/report.html"' in page

    query = "SELECT count(*) AS runs, max(served_longest_s) AS longest FROM recovery"
    lines = harness("sql", query, "--json", cwd=place).stdout
    assert json.loads(lines) == {"runs": 14, "longest": pytest.approx(1.539)}
    lines = harness("sql", query, "--csv", cwd=place).stdout
    assert next(csv.reader(io.StringIO(lines))) == ["runs", "longest"]


def test_a_wrong_query_is_a_sentence_with_sparks_reason(place: Path) -> None:
    done = harness("sql", "SELECT nonsense FROM runs", cwd=place, code=254)
    assert done.stderr.startswith("harness: Spark does not understand the query: A column")
    assert len(done.stderr.splitlines()) == 1
    done = harness("sql", "DROP TABLE runs", cwd=place, code=254)
    assert "only queries that read" in done.stderr


def test_an_empty_lake_is_a_sentence(tmp_path: Path) -> None:
    for command in (("tables",), ("trends",), ("sql", "FROM runs")):
        done = harness(*command, cwd=tmp_path, code=254)
        assert "lake has no runs yet; harness lake ingest" in done.stderr


def test_the_example_of_the_guide_runs_by_spark_submit(place: Path) -> None:
    if not (place / "lake" / "figures").exists():
        harness("tables", cwd=place)
    done = subprocess.run(
        [Path(sys.executable).parent / "spark-submit", ROOT / EXAMPLE, "lake"],
        cwd=place, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Which faults kept clients waiting longest?" in done.stdout
    assert re.search(r"\|\s*kill\|\s*14\|", done.stdout)
