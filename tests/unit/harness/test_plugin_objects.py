"""A plugin that lacks something is refused before a run begins: what, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.cli.exits import EXIT_USAGE, exit_code_of
from harness.cluster.local import LocalPlace
from harness.errors import UsageFailure
from harness.plugins import PluginError, load_plugins
from harness.registry import REGISTRY
from harness.run.plan import Plan
from harness.run.stage import make_system
from tests.unit.harness.registries import kept_registry

WORKLOAD = """
from workloads.queue import Queue

class Half:
    '''Lacks what is left out.'''
    name, consistency, is_polled, needs = "half", "none", True, frozenset()
    checkers = ("lost-write",)
    def __init__(self, load): self._queue = Queue(load)
    topics = property(lambda self: self._queue.topics)
    def batching(self, client): return self._queue.batching(client)
    def opening(self, client, process): return self._queue.opening(client, process)
    def operation(self, client, ordinal): return self._queue.operation(client, ordinal)
    def write(self, client, ordinal, key): return self._queue.write(client, ordinal, key)
    def drained_keys(self, client): return self._queue.drained_keys(client)
    def closing(self, client, ordinal): return ()

def register(registry): registry.workload("half", Half)
"""
NEMESIS = """
from nemesis.pause import Pauses

class Half:
    '''Lacks what is left out.'''
    kinds, variants, needs = Pauses.kinds, (), frozenset()
    def __init__(self, name, variant, target): self.name = name
    def why_not(self, cluster): return None
    def why_never(self, ground): return None
    async def choose(self, scene, moment, dice): return ()
    async def inject(self, scene, fault): return "done"
    async def heal(self, scene, fault): pass

def register(registry): registry.nemesis("half", Half)
"""
CLIENT = """
class Half:
    def __init__(self, settings, client_id): raise OSError("not without an address")
    async def open(self): pass
    async def invoke(self, invocation): raise NotImplementedError
    async def close(self): pass

class Made(Half):
    def __init__(self, settings, client_id): pass

def register(registry):
    registry.client("half", Half)
    registry.client("made", lambda settings, client_id: Made(settings, client_id))
"""
SYSTEM = """
from harness.cluster.parts import NoParts

class Half(NoParts):
    name = "half"
    def __init__(self, place, config): self.place = place
    async def install(self, node): pass
    async def configure(self, node): pass
    async def start(self, node): pass
    async def stop(self, node): pass
    def process(self, node): return None
    async def is_well(self, node): return True
    def bootstrap(self, nodes): return ""
    def logs(self, node): return ()

def register(registry): registry.system("half", Half, about="half a system")
"""


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)  # a run that is not refused keeps its store there
    with kept_registry():
        yield


def written(directory: Path, text: str, left_out: str = "", instead: str = "") -> str:
    assert left_out in text
    lines = [line for line in text.splitlines() if not left_out or left_out not in line]
    assert not left_out or len(lines) < len(text.splitlines())
    path = directory / "half.py"
    path.write_text("\n".join(lines).replace("class Half", f"{instead}\nclass Half", 1))
    return str(path)


def refused(*words: str) -> str:
    """The sentence with which `harness test` refuses these options, at once and with 254."""
    result = CliRunner().invoke(cli, ["test", "--time-limit", "1", *words], standalone_mode=False)
    assert isinstance(result.exception, UsageFailure), result
    assert exit_code_of(result.exception) == EXIT_USAGE
    return str(result.exception)


@pytest.mark.parametrize(
    ("left_out", "lacking"),
    [
        ("def closing", "closing(client, ordinal)"),
        ("def write", "write(client, ordinal, key)"),
        ("topics =", "topics"),
        ("checkers =", "checkers"),
    ],
)
def test_a_workload(left_out: str, lacking: str, tmp_path: Path) -> None:
    path = written(tmp_path, WORKLOAD, left_out)
    assert refused("--plugin", path, "-w", "half") == (
        f"workload half (Half in {path}) lacks {lacking}; add what Workload of workloads/base.py "
        "declares, as docs/extending.md shows"
    )


def test_all_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, WORKLOAD, "name, consistency")
    assert "lacks name, consistency, is_polled, needs;" in refused("--plugin", path, "-w", "half")


def test_a_method_of_the_protocol_itself_is_none(tmp_path: Path) -> None:
    """A class that inherits from the protocol has methods that return nothing."""
    path = written(tmp_path, WORKLOAD.replace("class Half:", "class Half(Workload):"),
                   "def closing", "from workloads.base import Workload")  # fmt: skip
    assert "lacks closing(client, ordinal);" in refused("--plugin", path, "-w", "half")


def test_a_method_with_other_arguments(tmp_path: Path) -> None:
    path = written(
        tmp_path, WORKLOAD.replace("operation(self, client, ordinal)", "operation(self)", 1)
    )
    assert refused("--plugin", path, "-w", "half").startswith(
        f"workload half (Half in {path}) has operation, which cannot be called as "
        "operation(client, ordinal); "
    )


def test_a_workload_that_names_an_unknown_checker(tmp_path: Path) -> None:
    path = written(tmp_path, WORKLOAD.replace('"lost-write"', '"lost-wrote"'))
    result = CliRunner().invoke(
        cli, ["test", "--plugin", path, "-w", "half"], standalone_mode=False
    )
    assert "-w half names the checker 'lost-wrote'" in str(result.exception)


@pytest.mark.parametrize(
    ("left_out", "lacking"),
    [
        ("kinds, variants", "kinds, variants, needs"),
        ("async def heal", "heal(scene, fault)"),
        ("def __init__", "name"),
    ],
)
def test_a_nemesis(left_out: str, lacking: str, tmp_path: Path) -> None:
    said = NEMESIS
    if lacking == "name":
        said, left_out = said.replace("self.name = name", "pass"), ""
    path = written(tmp_path, said, left_out)
    assert refused("--plugin", path, "--nemesis", "half") == (
        f"nemesis half (Half in {path}) lacks {lacking}; add what Nemesis of nemesis/base.py "
        "declares, as docs/extending.md shows"
    )


@pytest.mark.parametrize("name", ["half", "made"])
def test_a_client(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, CLIENT, "async def invoke")
    sentence = refused("--plugin", path, "--client", name)
    assert sentence.startswith(f"client {name} (")
    assert f"in {path}) lacks invoke(invocation); add what Client of harness/client" in sentence


@pytest.mark.parametrize(
    ("left_out", "lacking"),
    [("async def is_well", "is_well(node)"), ('name = "half"', "name")],
)
def test_a_system(left_out: str, lacking: str, tmp_path: Path) -> None:
    path = written(tmp_path, SYSTEM, left_out)
    load_plugins([path])
    with pytest.raises(UsageFailure) as failure:
        make_system(Plan(system="half"), LocalPlace(tmp_path))
    assert f"system half (Half in {path}) lacks {lacking};" in str(failure.value)


def test_whatever_has_all_members_passes(tmp_path: Path) -> None:
    for text in (WORKLOAD, NEMESIS, CLIENT, SYSTEM):
        with kept_registry():
            load_plugins([written(tmp_path, text)])
            if "half" in REGISTRY.systems:
                make_system(Plan(system="half"), LocalPlace(tmp_path))


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ("'mine'", "'mine' is no Checker"),
        (
            "Checker(name='mine', about='Mine.', look=None, rows=())",
            "the checker mine has no function `look`",
        ),
    ],
)
def test_a_checker(said: str, because: str, tmp_path: Path) -> None:
    text = (
        f"from checkers.checker import Checker\ndef register(registry): registry.checker({said})\n"
    )
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(PluginError, match=because):
        load_plugins([str(path)])
