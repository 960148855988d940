"""A broker's home: its configuration, and commands run in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from broker.cli.main import run


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "server.properties").write_text(
        "node.id=1\n"
        "listeners=PLAINTEXT://127.0.0.1:0\n"
        "reference.metrics.listener=127.0.0.1:0\n"
        f"log.dirs={tmp_path}/data\n"
    )
    return tmp_path


@pytest.fixture
def broker(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs the command here, and afterwards logs go where they went before."""
    logger = logging.getLogger("broker")
    before = logger.handlers[:], logger.level, logger.propagate

    def call(*arguments: object) -> Ran:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield call
    logger.handlers[:], logger.level, logger.propagate = before
