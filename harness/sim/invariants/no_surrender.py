"""W-EXIT: no node ends by itself, but for a fault of its disk.

A node gives up when it cannot apply what is committed, or when another member asks for what must
never be. Then a rule is broken somewhere, though whoever noticed it may be innocent. An error that
a fault of the disk has made is a reason, and so is what was raised from one. A file that is missing
or closed, a connection that is reset, a time that is up: none of these is. It cannot see a node
that merely hangs.
"""

from __future__ import annotations

from broker.disk.memory import is_from_fault
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step


class NoSurrender:
    name = "W-EXIT"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for news in step.of_kind("begin", "exit"):
            self.looks += 1
            if news.kind == "exit" and not _comes_from_disk(news.detail):
                return step.broken(self.name, f"{news.node} ended by itself: {news.detail!r}")
        return None


def _comes_from_disk(problem: object) -> bool:
    while isinstance(problem, BaseException):
        if is_from_fault(problem):
            return True
        problem = problem.__cause__
    return False
