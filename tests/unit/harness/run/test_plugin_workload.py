"""A plugin's workload that no client can do is refused before the run, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.client.base import Invocation
from harness.errors import UsageFailure
from harness.registry import REGISTRY
from harness.run.feasible import why_no_verdict
from harness.run.plan import Plan
from tests.unit.harness.registries import kept_registry
from workloads.base import Load
from workloads.queue import Queue

PLAN = Plan(workload="mine", on="sim")


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with kept_registry():
        yield


class Mine(Queue):
    def __init__(self, load: Load, eighth: Any = None) -> None:
        super().__init__(load)
        self._eighth = eighth

    def operation(self, client: int, ordinal: int) -> Invocation:
        if ordinal != 7 or self._eighth is None:
            return super().operation(client, ordinal)
        said: Invocation = self._eighth()
        return said


def no_more() -> Any:
    raise ValueError("no more")


@pytest.mark.parametrize(
    ("eighth", "said"),
    [
        (no_more, "operation(0, 7) raised ValueError: no more"),
        (lambda: 5, "operation(0, 7) returned 5 instead of an Invocation"),
        (lambda: Invocation("dance"), "operation(0, 7) returned the operation 'dance'; clients"),
        (lambda: Invocation("send", [["send", "x", {1}]]), "a value that no history can store"),
    ],
)
def test_an_operation_that_cannot_be_done_is_refused(eighth: Any, said: str) -> None:
    REGISTRY.workload("mine", lambda load: Mine(load, eighth))
    why_not = why_no_verdict(PLAN) or ""
    assert why_not.startswith("-w mine cannot be used: ")
    assert said in why_not


def test_a_workload_that_nobody_judges_is_refused() -> None:
    class Unjudged(Mine):
        checkers = ()

    REGISTRY.workload("mine", Unjudged)
    assert "-w mine names no checker" in (why_no_verdict(PLAN) or "")


def test_one_that_can_be_done_is_not() -> None:
    REGISTRY.workload("mine", Mine)
    assert why_no_verdict(PLAN) is None


def test_one_that_cannot_be_made_is_told_of_in_a_sentence() -> None:
    REGISTRY.workload("mine", no_more)
    with pytest.raises(UsageFailure, match="workload mine could not be made: "):
        why_no_verdict(PLAN)
