"""Every checker by its name, which is Jepsen's where Jepsen has one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
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

    def __init__(self, module: str, function: str, about: str) -> None:
        self._module = module
        self._function = function
        # `harness checkers` tells what a thing is by its docstring.
        self.__doc__ = about

    def examine(self, facts: LogFacts) -> Findings:
        found: Findings = getattr(import_module(self._module), self._function)(facts)
        return found


CHECKERS: dict[str, Checker] = {
    name: Checker(f"checkers.log.{module}", function, about)
    for name, module, function, about in (
        (
            "lost-write",
            "lost_write",
            "lost_writes",
            "A record took effect, was read past and never read.",
        ),
        ("duplicate", "contents", "duplicates", "One value is at several offsets."),
        (
            "inconsistent-offsets",
            "contents",
            "inconsistent_offsets",
            "One offset has several values.",
        ),
        ("G1a", "aborted_read", "aborted_reads", "A poll showed a value whose send failed."),
        (
            "nonmonotonic-poll",
            "jumps",
            "nonmonotonic_polls",
            "A consumer goes back by itself, from one operation to the next.",
        ),
        ("poll-skip", "jumps", "poll_skips", "A consumer skips records between operations."),
        ("int-poll-skip", "jumps", "int_poll_skips", "A poll skips records."),
        ("int-nonmonotonic-poll", "jumps", "int_nonmonotonic_polls", "A poll goes back."),
        (
            "nonmonotonic-send",
            "jumps",
            "nonmonotonic_sends",
            "A later send of a process lands before an earlier one.",
        ),
        ("int-send-skip", "jumps", "int_send_skips", "Records of others between those of one."),
        (
            "int-nonmonotonic-send",
            "jumps",
            "int_nonmonotonic_sends",
            "The records of one operation are not in its order.",
        ),
        (
            "producer-order",
            "jumps",
            "producer_orders",
            "A producer was told offsets that do not grow.",
        ),
        (
            "G1c",
            "cycles",
            "cycles",
            "Operations that read each other's writes.",
        ),
        ("unseen", "unread", "unseen", "An acknowledged record was never read."),
        (
            "torn-transaction",
            "unread",
            "torn_transactions",
            "Of a transaction one record was read, another was read past.",
        ),
        ("phantom-read", "foreign", "phantom_reads", "A poll showed a value that nobody sent."),
        (
            "precommitted-read",
            "foreign",
            "precommitted_reads",
            "An operation polled what it sends itself.",
        ),
        (
            "nonlinearizable-log",
            "linear",
            "nonlinearizable_logs",
            "The order of a log contradicts the order of time.",
        ),
        (
            "watermark-regression",
            "linear",
            "watermark_regressions",
            "The end of a log was told to be earlier than before.",
        ),
        (
            "hanging-transaction",
            "transactions",
            "hanging_transactions",
            "The last stable offset stays behind when no transaction is open.",
        ),
        (
            "commit-regression",
            "groups",
            "commit_regressions",
            "A committed offset came back that had been replaced.",
        ),
        ("lost-commit", "groups", "lost_commits", "A committed offset is gone."),
        (
            "zombie-commit",
            "groups",
            "zombie_commits",
            "A commit of a generation that was over was accepted.",
        ),
        ("two-owners", "groups", "two_owners", "Two members own one partition in one generation."),
        (
            "exactly-once",
            "exactly_once",
            "exactly_once",
            "An input was processed twice, or skipped.",
        ),
        (
            "compaction-lost-key",
            "compaction",
            "compaction_lost_keys",
            "A key is gone that nobody deleted.",
        ),
        (
            "compaction-resurrected-key",
            "compaction",
            "compaction_resurrected_keys",
            "A value came back that had been replaced or deleted.",
        ),
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
            verdicts.append(judged(name, CHECKERS[name].examine(facts), contract))
        except Exception as error:
            verdicts.append(_broken(name, error))
    return verdicts


def _broken(name: str, error: Exception) -> Verdict:
    reason = f"the checker broke: {type(error).__name__}: {error}"
    return Verdict(checker=name, validity=Validity.UNKNOWN, why=reason)
