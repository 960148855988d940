"""Every model that a history can be judged by, and how one is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from checkers.contract import Contract
from checkers.results import Result
from checkers.verdict import Validity

if TYPE_CHECKING:
    from checkers.segments.replicas import Replica
    from checkers.stored import StoredHistory
    from harness.history.history import History

Reading = Literal["asserts", "ignored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a history besides its model."""

    contract: Contract = field(default_factory=Contract)
    consistency_models: tuple[str, ...] = ()
    """What was promised; the model's own default if none is named."""
    initial: Any = None
    has_initial: bool = False
    """Whether `initial` was given at all: null is an initial value, too."""
    failed_cas: Reading = "ignored"
    null_read: Reading = "ignored"
    budget: int = 20_000_000
    """Configurations that a search may visit before it gives up and says so."""
    replicas: tuple[Replica, ...] = ()
    """What brokers have stored, the ground truth of a log."""


MODELS = (
    "kafka",
    "list-append",
    "rw-register",
    "register",
    "cas-register",
    "multi-register",
    "kv-append",
    "mutex",
    "fifo-queue",
    "stack",
    "set",
    "set-full",
    "queue",
    "total-queue",
    "counter",
    "unique-ids",
    "bank",
    "long-fork",
)


LEAN = ("kafka", "list-append", "rw-register")
"""Models that read what they need of a history on disk by themselves."""


def judge(history: History | StoredHistory, model: str, question: Question) -> Result:
    """A model that breaks is told of, and proves nothing. HistoryError: a value that is none was
    met, which nobody had looked at before."""
    from checkers.judges import JUDGES
    from harness.history.errors import HistoryError

    try:
        return JUDGES[model](history, question)
    except HistoryError:
        raise
    except Exception as error:
        reason = f"the checker broke: {type(error).__name__}: {error}"
        return Result(validity=Validity.UNKNOWN, why=reason)
