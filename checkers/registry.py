"""Every checker by its name, which is Jepsen's where Jepsen has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from checkers.contract import Contract
from checkers.verdict import Validity, Verdict

if TYPE_CHECKING:
    from checkers.findings import Findings
    from checkers.log.facts import LogFacts
    from harness.history.history import History


class Checker:
    """One anomaly, and the function that looks for it.

    It is imported when it is needed: numpy and compiled code take longer than a help page may.
    """

    def __init__(self, name: str, about: str) -> None:
        self._name = name
        # `harness checkers` tells what a thing is by its docstring.
        self.__doc__ = about

    def examine(self, facts: LogFacts, contract: Contract) -> Findings:
        from checkers.kept.examiners import KEPT
        from checkers.log.examiners import examiner

        return (KEPT.get(self._name) or examiner(self._name, contract))(facts)


CHECKERS: dict[str, Checker] = {
    name: Checker(name, about)
    for name, about in (
        ("lost-write", "A record took effect, was read past and never read."),
        ("duplicate", "One value is at several offsets."),
        ("inconsistent-offsets", "One offset has several values."),
        ("G1a", "A poll showed a value whose send failed."),
        ("nonmonotonic-poll", "A consumer goes back by itself, from one operation to the next."),
        ("poll-skip", "A consumer skips records between operations."),
        ("int-poll-skip", "A poll skips records."),
        ("int-nonmonotonic-poll", "A poll goes back."),
        ("nonmonotonic-send", "A later send of a process lands before an earlier one."),
        ("int-send-skip", "Records of others between those of one."),
        ("int-nonmonotonic-send", "The records of one operation are not in its order."),
        ("producer-order", "A producer was told offsets that do not grow."),
        ("G1c", "Operations that read each other's writes."),
        ("unseen", "An acknowledged record was never read."),
        ("torn-transaction", "Of a transaction one record was read, another was read past."),
        ("phantom-read", "A poll showed a value that nobody sent."),
        ("precommitted-read", "An operation polled what it sends itself."),
        ("nonlinearizable-log", "The order of a log contradicts the order of time."),
        ("stale-read", "A poll misses what has been there for longer than was asked for."),
        ("watermark-regression", "The end of a log was told to be earlier than before."),
        ("hanging-transaction", "The last stable offset stays behind when no transaction is open."),
        ("commit-regression", "A committed offset came back that had been replaced."),
        ("lost-commit", "A committed offset is gone."),
        ("zombie-commit", "A commit of a generation that was over was accepted."),
        ("two-owners", "Two members own one partition in one generation."),
        ("exactly-once", "An input was processed twice, or skipped."),
        ("compaction-lost-key", "A key is gone that nobody deleted."),
        ("compaction-resurrected-key", "A value came back that had been replaced or deleted."),
        ("lost-append", "An acknowledged append is not in its list when all was read back."),
        ("phantom-append", "A list holds a value that nobody appended."),
        ("replaced-get", "A get gave a value that was replaced below the end it had read to."),
        ("lost-put", "When all was read back, the last value of a name was not there."),
        ("phantom-topic", "A describe showed a topic as nobody had made it."),
        ("lost-change", "When all was healed, a describe contradicts an acknowledged change."),
    )
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
            verdicts.append(judged(name, CHECKERS[name].examine(facts, contract), contract))
        except Exception as error:
            verdicts.append(_broken(name, error))
    return verdicts


def _broken(name: str, error: Exception) -> Verdict:
    reason = f"the checker broke: {type(error).__name__}: {error}"
    return Verdict(checker=name, validity=Validity.UNKNOWN, why=reason)
