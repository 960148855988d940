"""A checker: one kind of anomaly, declared in the file of the function that looks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from checkers.contract import Clause, Contract
from checkers.findings import Findings

if TYPE_CHECKING:
    from checkers.cuts.projection import Gone
    from checkers.log.facts import LogFacts
    from checkers.segments.replicas import Replica
    from checkers.stored import StoredHistory
    from harness.history.history import History


class Need(Enum):
    """What must be true of a run before a checker may accuse anybody."""

    READ_BACK = "everything was read back"
    HEALED = "everything was healed"
    TIMESTAMPS = "clients recorded timestamps, and message.timestamp.type is known"


class Evidence:
    """All that a run left to look at. Checkers of one history share what is worked out of it."""

    def __init__(
        self,
        history: History | StoredHistory,
        *,
        replicas: tuple[Replica, ...] = (),
        calm: Mapping[str, Any] | None = None,
        facts: LogFacts | None = None,
        gone: Gone | None = None,
    ) -> None:
        self.history = history
        self._facts = facts
        self._gone = gone
        self.replicas = replicas
        """What brokers stored: the ground truth of a log."""
        self.calm = calm
        """The cluster after the last fault, as harness/run/aftermath.py describes it."""

    @property
    def facts(self) -> LogFacts:
        """What the logs say of each value (log/facts.py), worked out when first asked for."""
        if self._facts is None:
            from checkers.log.facts import LogFacts
            from checkers.stored import columns_of

            self._facts = LogFacts(columns_of(self.history), gone=self._gone)
        return self._facts


Look = Callable[[Evidence, Contract], Findings]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    name: str
    """The anomaly's, which is Jepsen's where Jepsen has one."""
    about: str
    """One sentence for `harness checkers` and the reference."""
    look: Look
    rows: tuple[Clause, ...]
    """What the contract says of the anomaly, from the special configuration to the general."""
    other_rows: Mapping[str, tuple[Clause, ...]] = field(default_factory=dict)
    """The same for further types of findings, by type."""
    needs: frozenset[Need] = frozenset()
    stands: bool = False
    """Whether a finding stands whatever the rest of the run brings: `--stop-on-anomaly` asks only
    these. What looks lost early may still be read later."""
    model: str | None = None
    """The model of `harness check` that the checker is a part of; None: only runs ask it."""


def of_facts(look: Callable[[LogFacts], Findings]) -> Look:
    """For a checker to which the settings of a run make no difference in how it looks."""
    return lambda evidence, _: look(evidence.facts)
