"""What goes to the workers of a cluster."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from pipeline.shipping import DIRECTORY, PACKAGES, pack, python_path


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Times of the files by name."""
    archive = tmp_path_factory.mktemp("shipped") / "code.tar.gz"
    pack(archive)
    with tarfile.open(archive) as opened:
        return {member.name: member.mtime for member in opened}


def test_every_package_goes_with_the_data_beside_its_modules(shipped: dict[str, float]) -> None:
    for package in PACKAGES:
        assert f"{package}/__init__.py" in shipped
    assert any(name.startswith("broker/protocol/schemas/") for name in shipped)


def test_files_for_the_python_of_this_machine_stay_here(shipped: dict[str, float]) -> None:
    assert [name for name in shipped if name.endswith((".pyc", ".so"))] == []
    assert [name for name in shipped if ".tmp." in name] == []


def test_times_are_kept_for_compiled_code_counts_only_with_the_time_of_its_source(
    shipped: dict[str, float],
) -> None:
    source = Path(__file__).parents[3] / "checkers" / "kernels" / "compiling.py"
    assert shipped["checkers/kernels/compiling.py"] == source.stat().st_mtime


def test_workers_of_this_machine_use_our_files_and_others_what_was_unpacked() -> None:
    assert python_path(True) == str(Path(__file__).parents[3])
    assert python_path(False) == DIRECTORY
