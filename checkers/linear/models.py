"""The models that are judged by linearizability alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from checkers.columns import INFO, OK, Columns
from checkers.linear.calls import calls, canonical, happened
from checkers.linear.keyed import KEYED, Objects
from checkers.linear.objects import Action, ObjectSearch
from checkers.linear.search import Searchable, searched
from checkers.linear.verdicts import Evidence, Searched, verdict_on
from checkers.models import Question
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import encode


def register(history: History | StoredHistory, question: Question) -> Verdict:
    return _keyed("register", history, question)


def cas_register(history: History | StoredHistory, question: Question) -> Verdict:
    return _keyed("cas-register", history, question)


def mutex(history: History | StoredHistory, question: Question) -> Verdict:
    return _keyed("mutex", history, question)


def kv_append(history: History | StoredHistory, question: Question) -> Verdict:
    return _keyed("kv-append", history, question)


def fifo_queue(history: History | StoredHistory, question: Question) -> Verdict:
    return _keyed("fifo-queue", history, question)


def stack(history: History | StoredHistory, question: Question) -> Verdict:
    return _keyed("stack", history, question)


def _keyed(name: str, history: History | StoredHistory, question: Question) -> Verdict:
    model = KEYED[name]
    columns = columns_of(history)
    objects = model.objects(calls(columns, *model.names), question)
    return _judged(history, columns, question, objects, *model.names)


def multi_register(history: History | StoredHistory, question: Question) -> Verdict:
    """Transactions of reads and writes over registers; together they are one object."""
    columns = columns_of(history)
    done = [
        (call, tuple((part[0][0], encode(part[1]), canonical(part[2])) for part in call.value))
        for call in calls(columns, "txn", "read", "write")
        if happened(call) and isinstance(call.value, list)
    ]
    named = {register_ for _, parts in done for _, register_, _ in parts}
    given = question.initial if isinstance(question.initial, dict) else {}
    initial = tuple(
        sorted((_register_named(name, named), canonical(value)) for name, value in given.items())
    )
    default = canonical(None if isinstance(question.initial, dict) else question.initial)
    silent = question.null_read == "ignored"
    asserted = False
    actions = []
    for call, parts in done:
        if call.outcome == INFO and all(part[0] == "r" for part in parts):
            continue
        asserted |= call.outcome == OK and any(
            part[0] == "r" and not (silent and part[2] == "null") for part in parts
        )
        actions.append(Action(call, _transaction(parts, default, silent=silent), parts))
    searches: dict[Hashable, Searchable] = {}
    if actions:
        searches[None] = ObjectSearch(actions, initial)
    objects = Objects(searches, asserted)
    return _judged(history, columns, question, objects, "txn", "read", "write")


def _register_named(name: str, named: set[str]) -> str:
    """The keys of an object are texts: "1" is the register 1, unless the history says "1"."""
    return encode(name) if encode(name) in named or name not in named else name


def _transaction(parts: Any, default: Hashable, *, silent: bool) -> Callable[[Any], Any]:
    def move(state: Any) -> Any:
        values = dict(state)
        for name, register_, value in parts:
            if name == "w":
                values[register_] = value
            elif not (silent and value == "null") and values.get(register_, default) != value:
                return None
        return tuple(sorted(values.items()))

    move.pure = all(name == "r" for name, _, _ in parts)  # type: ignore[attr-defined]
    return move


def _judged(
    history: History | StoredHistory,
    columns: Columns,
    question: Question,
    objects: Objects,
    *names: str,
) -> Verdict:
    outcomes = searched(objects.searches, question.budget)
    evidence = Evidence.of(columns, *names, asserted=objects.asserted)
    return verdict_on(len(history), Searched.of(columns, outcomes), evidence, question.budget)
