"""Every checker by name, found in the modules of this package.

A module that declares `CHECKERS` is all that a new checker takes. Nothing is imported before a
checker is asked for: numpy and compiled code take longer than a help page may.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checkers.checker import Checker, Evidence
    from checkers.contract import Clause, Contract
    from checkers.verdict import Verdict
    from harness.history.history import History

_ROOMS = ("checkers.log", "checkers.kept", "checkers.segments", "checkers.cluster")
"""Packages whose modules may declare checkers."""
_added: dict[str, Checker] = {}


def add(checkers: Iterable[Checker]) -> None:
    """Registers checkers from outside the tree."""
    for checker in checkers:
        _added[checker.name] = checker
    all_checkers.cache_clear()
    rows.cache_clear()


@cache
def all_checkers() -> Mapping[str, Checker]:
    """By name, in alphabetical order."""
    found = {checker.name: checker for room in _ROOMS for checker in _declared(room)} | _added
    return dict(sorted(found.items()))


@cache
def rows() -> Mapping[str, tuple[Clause, ...]]:
    """The rows of the contract, by anomaly."""
    found: dict[str, tuple[Clause, ...]] = {}
    for checker in all_checkers().values():
        found |= {**checker.other_rows, **({checker.name: checker.rows} if checker.rows else {})}
    return found


def check(subject: Evidence | History, contract: Contract, names: Sequence[str]) -> list[Verdict]:
    """A verdict for each name. A checker that breaks proves nothing."""
    from checkers.checker import Evidence
    from checkers.findings import refuse_nonsense
    from checkers.rule import broken, rule

    evidence = subject if isinstance(subject, Evidence) else Evidence(subject)
    verdicts = []
    for name in names:
        checker = all_checkers()[name]
        model = checker.model or "kafka"
        try:
            findings = checker.look(evidence, contract)
            refuse_nonsense(findings)
            verdicts.append(rule(findings, contract, checker=name, model=model))
        # A plugin that calls sys.exit() would end the run with the code of a verdict.
        except (Exception, SystemExit) as error:
            verdicts.append(broken(name, error, model=model))
    return verdicts


def _declared(room: str) -> Iterable[Checker]:
    package = import_module(room)
    for module in pkgutil.iter_modules(package.__path__, f"{room}."):
        yield from getattr(import_module(module.name), "CHECKERS", ())
