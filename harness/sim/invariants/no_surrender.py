"""W-EXIT: no node ends by itself, but for its disk.

A node gives up when it cannot apply what is committed, or when another member asks for what must
never be. Then a rule is broken somewhere, though whoever noticed it may be innocent. An error of
the disk is a reason, and so is what follows from one. It cannot see a node that merely hangs.
"""

from __future__ import annotations

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
        if isinstance(problem, OSError):
            return True
        problem = problem.__cause__ or problem.__context__
    return False
