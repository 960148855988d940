"""A fault of a process is about a node that there is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.cluster.base import System
from harness.cluster.node_processes import NodeProcesses


@pytest.mark.parametrize(
    "call", ["kill", "pause", "resume", "start", "stop", "is_running", "is_paused"]
)
async def test_a_node_that_is_not_there_is_no_node_that_is_down(call: str) -> None:
    hosts = [SimpleNamespace(node="n1"), SimpleNamespace(node="n2")]
    system: Any = SimpleNamespace(
        place=SimpleNamespace(hosts=hosts), process=lambda node: None, start=None, stop=None
    )
    processes = NodeProcesses(cast("System", system))
    with pytest.raises(ValueError, match=r"there is no node n3 here, only \['n1', 'n2'\]"):
        await getattr(processes, call)("n3")
