"""Every model that a history can be judged by, and how one is asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from checkers.contract import Contract

if TYPE_CHECKING:
    from checkers.cuts.projection import Gone
    from checkers.segments.replicas import Replica
    from checkers.stored import StoredHistory
    from checkers.transactions.list_append import WholeLists
    from checkers.verdict import Verdict
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
    gone: Gone | None = None
    """Records of a larger history that the given one is a part of (checkers/cuts)."""
    lists: WholeLists | None = None
    """The same of a larger history of lists."""


MODELS: dict[str, str] = {
    "kafka": "checkers.log.model:kafka",
    "list-append": "checkers.transactions.list_append:list_append",
    "rw-register": "checkers.transactions.rw_register:rw_register",
    "register": "checkers.linear.models:register",
    "cas-register": "checkers.linear.models:cas_register",
    "multi-register": "checkers.linear.models:multi_register",
    "kv-append": "checkers.linear.models:kv_append",
    "mutex": "checkers.linear.models:mutex",
    "fifo-queue": "checkers.linear.models:fifo_queue",
    "stack": "checkers.linear.models:stack",
    "set": "checkers.counts.sets:whole_set",
    "set-full": "checkers.counts.sets:full_set",
    "queue": "checkers.counts.queues:queue",
    "total-queue": "checkers.counts.queues:total_queue",
    "counter": "checkers.counts.counters:counter",
    "unique-ids": "checkers.counts.counters:unique_ids",
    "bank": "checkers.counts.banks:bank",
    "long-fork": "checkers.counts.forks:long_fork",
}
"""By name, the function that judges; imported when it is asked, for numpy takes its time."""

LEAN = ("kafka", "list-append", "rw-register")
"""Models that read what they need of a history on disk by themselves."""


def judge(history: History | StoredHistory, model: str, question: Question) -> Verdict:
    """The verdict of a model; one that breaks proves nothing.

    Raises HistoryError for a value that no reader had looked at before, and that is not one.
    """
    from checkers.rule import broken
    from harness.history.errors import HistoryError

    module, _, function = MODELS[model].partition(":")
    try:
        verdict: Verdict = getattr(import_module(module), function)(history, question)
    except HistoryError:
        raise
    except Exception as error:
        return broken(model, error, model=model)
    return replace(verdict, checker=model, model=model)
