"""Every checker by its name, which is Jepsen's where Jepsen has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checkers.contract import Contract
from checkers.verdict import Validity, Verdict

if TYPE_CHECKING:
    from checkers.findings import Findings
    from checkers.log.facts import LogFacts
    from harness.history.history import History


@dataclass(frozen=True, slots=True)
class Checker:
    about: str
    """What `harness checkers` says of it."""
    load: Callable[[], Callable[[LogFacts], Findings]]
    """Imports it when it is needed: numpy and compiled code take longer than a help page may."""


def _lost_write() -> Callable[[LogFacts], Findings]:
    from checkers.log.lost_write import lost_writes

    return lost_writes


def _duplicate() -> Callable[[LogFacts], Findings]:
    from checkers.log.contents import duplicates

    return duplicates


def _inconsistent_offsets() -> Callable[[LogFacts], Findings]:
    from checkers.log.contents import inconsistent_offsets

    return inconsistent_offsets


def _aborted_read() -> Callable[[LogFacts], Findings]:
    from checkers.log.aborted_read import aborted_reads

    return aborted_reads


def _nonmonotonic_poll() -> Callable[[LogFacts], Findings]:
    from checkers.log.jumps import nonmonotonic_polls

    return nonmonotonic_polls


CHECKERS: dict[str, Checker] = {
    "lost-write": Checker(
        "a record that took effect and was read past, but never read", _lost_write
    ),
    "duplicate": Checker("one value at several offsets", _duplicate),
    "inconsistent-offsets": Checker("one offset with several values", _inconsistent_offsets),
    "G1a": Checker("a poll of a value whose send failed", _aborted_read),
    "nonmonotonic-poll": Checker("a consumer that goes back by itself", _nonmonotonic_poll),
}


def check(history: History, contract: Contract, names: Sequence[str]) -> list[Verdict]:
    """A verdict for each name. A checker that breaks is told of, and proves nothing."""
    from checkers.columns import Columns
    from checkers.judge import judged
    from checkers.log.facts import LogFacts

    try:
        facts = LogFacts(Columns(history))
    except Exception as error:
        return [_broken(name, error) for name in names]
    verdicts = []
    for name in names:
        try:
            verdicts.append(judged(name, CHECKERS[name].load()(facts), contract))
        except Exception as error:
            verdicts.append(_broken(name, error))
    return verdicts


def _broken(name: str, error: Exception) -> Verdict:
    reason = f"the checker broke: {type(error).__name__}: {error}"
    return Verdict(checker=name, validity=Validity.UNKNOWN, why=reason)
