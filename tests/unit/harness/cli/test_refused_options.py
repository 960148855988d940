"""What a run must not have is refused with 254 and a sentence, before anything is started."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from harness.cli import main


def refused(words: str, store: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `harness test` says; it makes no store."""
    with pytest.raises(SystemExit) as end:
        main(["test", *shlex.split(words), "--store", str(store)])
    said = capsys.readouterr().err
    assert end.value.code == 254, said
    assert "Traceback" not in said
    assert not store.exists()
    return said


@pytest.mark.parametrize(
    "said", ["abc", "1.5", "", "1_0", "0", "-1", "\N{SUPERSCRIPT TWO}", "9" * 99]
)
def test_min_insync_replicas_is_a_whole_number(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"--on sim --topic-config min.insync.replicas={said}"
    told = refused(words, tmp_path / "store", capsys)
    assert f"min.insync.replicas={said}: expected a whole number from 1 on" in told
    assert "try min.insync.replicas=2" in told
