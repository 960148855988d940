"""Which options of harness check mean something to which model.

What would change nothing is refused: whoever says it expects that it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from checkers.models import MODELS, Question

_LOGS = ("kafka",)
_SEARCHED = (
    *("register", "cas-register", "multi-register", "kv-append", "mutex", "fifo-queue", "stack"),
)
_MEANT_FOR: dict[str, tuple[str, ...]] = {
    "consistency_models": ("list-append", "rw-register", "set-full"),
    "initial": (*("register", "cas-register", "multi-register", "kv-append", "counter", "bank"),),
    "failed_cas": ("cas-register",),
    "null_read": ("register", "cas-register", "multi-register", "kv-append"),
    "budget": _SEARCHED,
    **dict.fromkeys(
        (
            *("ww_deps", "exact_polls", "exact_ends", "dense_offsets", "stale_bound", "segments"),
            *("contract", "acks", "isolation_level", "subscribe", "idempotence", "retries"),
            *("unclean_leader_election", "replication_factor", "min_insync_replicas"),
            *("transactions", "flush", "faults", "unsafe_faults", "timestamp_type", "one_clock"),
        ),
        _LOGS,
    ),
}
"""By parameter; those that are not here mean something to every model."""


def _is_number(value: Any) -> bool:
    return type(value) is int


def _is_total(value: Any) -> bool:
    balances = value.values() if isinstance(value, dict) else (value,)
    return all(map(_is_number, balances))


_BEGINNINGS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kv-append": (lambda value: value is None or isinstance(value, str), "a text"),
    "counter": (_is_number, "an integer"),
    "bank": (_is_total, "the total, an integer, or an object of accounts and integers"),
}
"""What a model may begin with, where that is not any value."""


def refuse_meaningless(context: click.Context, model: str, question: Question) -> None:
    for parameter in context.command.params:
        models = _MEANT_FOR.get(parameter.name or "", MODELS)
        given = context.get_parameter_source(parameter.name or "")
        if given is not ParameterSource.DEFAULT and model not in models:
            raise click.UsageError(
                f"{parameter.opts[0]} is for {', '.join(models)}; it has no meaning for the model "
                f"{model}"
            )
    least = context.params["min_insync_replicas"]
    copies = question.contract.replication_factor
    if least is not None and least > copies:
        raise click.UsageError(
            f"--min-insync-replicas {least} is more than --replication-factor {copies}"
        )
    if question.has_initial and model in _BEGINNINGS:
        fits, expected = _BEGINNINGS[model]
        if not fits(question.initial):
            raise click.UsageError(f"--initial: the model {model} takes {expected}")
