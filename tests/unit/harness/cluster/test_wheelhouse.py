"""The wheelhouse: for whom it can be made, of what, and that a broker runs from it."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
import tarfile
from pathlib import Path

import pytest

from harness.cluster.installing import INSTALLED_BROKER, Installer
from harness.cluster.wheelhouse import (
    BROKER_NEEDS,
    Target,
    locked_requirements,
    wheelhouse_for,
)
from harness.errors import EnvironmentFailure
from tests.unit.harness.cluster.places import local_place

ROOT = Path(__file__).parents[4]
DISTRIBUTIONS = {"google_crc32c": "google-crc32c", "prometheus_client": "prometheus-client"}


def test_what_the_broker_imports_is_taken_along_and_nothing_else() -> None:
    imported = set()
    for path in (ROOT / "broker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            imported |= {name.partition(".")[0] for name in names}
    foreign = imported - sys.stdlib_module_names - {"broker"}
    assert {DISTRIBUTIONS.get(name, name) for name in foreign} == set(BROKER_NEEDS)


def test_the_lock_pins_each_of_them_by_hash() -> None:
    found = locked_requirements((ROOT / "requirements.lock").read_text(), BROKER_NEEDS)
    starts = [line.partition("==")[0] for line in found.splitlines() if "==" in line]
    assert tuple(starts) == BROKER_NEEDS
    for requirement in re.split(r"(?<!\\)\n", found.strip()):
        assert re.fullmatch(r"\S+ (\\\n +--hash=sha256:[0-9a-f]{64} ?)+", requirement)


def test_what_the_lock_does_not_pin_is_told() -> None:
    with pytest.raises(EnvironmentFailure, match="does not pin b"):
        locked_requirements("a==1 \\\n    --hash=sha256:0\n", ["a", "b"])


def test_a_host_tells_what_fits_it() -> None:
    target = Target.of("3.12.4 aarch64 glibc 2.36\n", "n1")
    assert target == Target((3, 12), "aarch64", (2, 36))
    assert "--python-version=3.12" in target.pip_options
    assert "--platform=manylinux_2_28_aarch64" in target.pip_options
    assert "--platform=manylinux_2_37_aarch64" not in target.pip_options


@pytest.mark.parametrize(
    ("told", "refusal"),
    [
        ("3.9.2 x86_64 glibc 2.31", r"n3 has Python 3\.9\.2, and the broker takes 3\.11 or newer"),
        ("", r"n3 has Python \?"),
        ("3.12.4 x86_64", "n3 has no glibc"),
    ],
)
def test_a_host_that_cannot_have_it_is_told_so(told: str, refusal: str) -> None:
    with pytest.raises(EnvironmentFailure, match=refusal):
        Target.of(told, "n3")


async def test_a_host_without_python_is_told_so(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        with pytest.raises(EnvironmentFailure, match="n1 has no python9, and the broker takes"):
            await Installer(place, lambda _: "python9").install("n1")


@pytest.mark.slow
async def test_the_broker_runs_from_its_own_wheels(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        installer = Installer(place, lambda _: sys.executable)
        await installer.install("n1")
        where = [INSTALLED_BROKER[0], "-c", "import broker, sys; print(broker.__file__, sys.path)"]
        found = await place.run("n1", where)
        assert found.stdout.startswith(str(tmp_path / "installed")), found
        assert str(ROOT) not in found.stdout
        made = (tmp_path / "installed").resolve()
        born_ns = made.stat().st_ctime_ns
        await installer.install("n1")
        assert made.stat().st_ctime_ns == born_ns, "it was there already"
        version = await place.run("n1", [*INSTALLED_BROKER, "--version"])
        assert version.exit_code == 0


@pytest.mark.slow
async def test_the_same_tree_makes_the_same_wheelhouse(tmp_path: Path) -> None:
    target = Target((sys.version_info[0], sys.version_info[1]), "x86_64", (2, 28))
    first, second = await asyncio.gather(
        *(asyncio.to_thread(wheelhouse_for, target) for _ in range(2))
    )
    assert first == second
    with tarfile.open(first.archive) as tar:
        names = [name.partition("-")[0] for name in tar.getnames()]
    assert sorted(names) == sorted(
        ["log_trial", "pip/pip", *(name.replace("-", "_") for name in BROKER_NEEDS)]
    )
