"""The example histories of docs/reference/checkers.md show the anomalies they are named after."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from checkers import all_checkers
from checkers import check as check_history
from checkers.contract import Contract
from harness.cli.check import check
from harness.history.history import History

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checkers.md"
BY_REGISTRY = "run"
"""Stands for a model: only runs ask such a checker, so the test asks the registry by its name."""
WITHOUT_EXAMPLE = {"availability", "segments"}
"""Checkers that judge more than a history."""
LINES_MIN, LINES_MAX = 3, 6

_EXAMPLE = re.compile(r"<!-- example: (\S+) (\S+)(.*?) -->\n```jsonl\n(.*?)```", re.DOTALL)
_FENCE = "```jsonl"


class Example(NamedTuple):
    anomaly: str
    model: str
    options: str
    lines: str


EXAMPLES = [Example(*found) for found in _EXAMPLE.findall(PAGE.read_text())]


def found_in(example: Example, path: Path) -> set[str]:
    """Types of anomalies that the command of the example finds, allowed ones included."""
    if example.model == BY_REGISTRY:
        (verdict,) = check_history(History.load(path), Contract.safe(), [example.anomaly])
        return {verdict.checker} if verdict.anomalies else set()
    words = [str(path), "--model", example.model, "--json", *shlex.split(example.options)]
    result = CliRunner().invoke(check, words, standalone_mode=False)
    assert result.exception is None, result.exception
    return set(json.loads(result.output)["anomaly-types"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.anomaly} {each.model}")
def test_an_example_shows_its_anomaly(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(example.lines)
    assert example.anomaly in found_in(example, path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.anomaly} {each.model}")
def test_an_example_is_short_enough_to_read(example: Example) -> None:
    assert LINES_MIN <= len(example.lines.splitlines()) <= LINES_MAX


def test_every_checker_has_an_example() -> None:
    shown = {example.anomaly for example in EXAMPLES if example.model in ("kafka", BY_REGISTRY)}
    assert all_checkers().keys() - WITHOUT_EXAMPLE - shown == set()


def test_no_history_of_the_page_escapes_the_test() -> None:
    assert len(EXAMPLES) == PAGE.read_text().count(_FENCE)
