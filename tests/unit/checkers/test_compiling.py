"""Compiled code is of the sources that are there, and compiling gives the collector back."""

import gc
import os
from pathlib import Path

import numba
import numpy as np
import pytest

from checkers.kernels.compiling import forget_old_code


def _at(path: Path, second: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    os.utime(path, (second, second))
    return path


def test_code_that_is_older_than_any_source_is_forgotten(tmp_path: Path) -> None:
    _at(tmp_path / "caller.py", 10)
    _at(tmp_path / "called.py", 20)
    kept = tmp_path / "__pycache__"
    old = [_at(kept / f"caller.work-1.py311{end}", 15) for end in (".nbi", ".1.nbc")]
    new = _at(kept / "called.work-1.py311.nbi", 25)
    other = _at(kept / "caller.cpython-311.pyc", 15)

    forget_old_code(tmp_path)

    assert not any(path.exists() for path in old)
    assert new.exists()
    assert other.exists()


def test_without_anything_kept_there_is_nothing_to_forget(tmp_path: Path) -> None:
    _at(tmp_path / "caller.py", 10)
    forget_old_code(tmp_path)


@pytest.mark.parametrize("was_on", [True, False])
def test_compiling_leaves_the_collector_as_it_was(was_on: bool) -> None:
    on_before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()

        @numba.njit
        def total(numbers: np.ndarray) -> int:
            summed = 0
            for number in numbers:
                summed += number
            return summed

        assert total(np.arange(5)) == 10
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if on_before else gc.disable)()
