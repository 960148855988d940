"""The models that are judged by linearizability alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any

from checkers.columns import FAIL, INFO, OK, Columns
from checkers.contract import NoLog
from checkers.findings import Finding, Findings
from checkers.kernels.wgl import APPEND, CAS, FAILED_CAS, READ, WRITE
from checkers.linear.calls import Call, calls, canonical, happened
from checkers.linear.objects import Action, ObjectSearch
from checkers.linear.piles import NOTHING, Pile, decided
from checkers.linear.registers import Codes, Decided, searched_registers
from checkers.linear.search import Outcome, Search, Step, searched
from checkers.models import Question
from checkers.rule import rule_all
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import decode, encode, shown

_BASE = 0x100000001B3
_MASK = (1 << 64) - 1


def _register_steps(
    found: Iterable[Call], question: Question, codes: Codes
) -> dict[Hashable, list[Step]]:
    """Reads that tell nothing and operations that did not happen are left out."""
    steps: dict[Hashable, list[Step]] = {}
    for call in found:
        mine = steps.setdefault(call.key, [])
        if call.f == "read":
            if call.outcome == OK and (call.value is not None or question.null_read == "asserts"):
                mine.append(Step(call, READ, codes.of(call.value), pure=True))
        elif call.f == "write":
            if happened(call):
                mine.append(Step(call, WRITE, codes.of(call.value)))
        elif call.outcome == FAIL:
            if question.failed_cas == "asserts":
                mine.append(Step(call, FAILED_CAS, codes.of(call.value[0]), pure=True))
        else:
            one, other = (codes.of(part) for part in call.value)
            mine.append(Step(call, CAS, one, other, pure=one == other))
    return steps


def register(history: History | StoredHistory, question: Question) -> Verdict:
    return _registers(history, question, "read", "write")


def cas_register(history: History | StoredHistory, question: Question) -> Verdict:
    return _registers(history, question, "read", "write", "cas")


def _registers(history: History | StoredHistory, question: Question, *names: str) -> Verdict:
    codes = Codes()
    initial = codes.of(question.initial)
    columns = columns_of(history)
    steps = _register_steps(calls(columns, *names), question, codes)
    outcomes = searched_registers(steps, initial, question.budget)
    every = (step for mine in steps.values() for step in mine)
    asserted = any(step.kind != WRITE and step.call.outcome != INFO for step in every)
    return _judged(history, columns, question, outcomes, *names, asserted=asserted)


def mutex(history: History | StoredHistory, question: Question) -> Verdict:
    """Acquire and release, of a lock that is free at first."""
    columns = columns_of(history)
    moves = {"acquire": (0, 1), "release": (1, 0)}
    steps: dict[Hashable, list[Step]] = {}
    for call in calls(columns, *moves):
        if happened(call):
            steps.setdefault(call.key, []).append(Step(call, CAS, *moves[call.f]))
    objects = {key: Search(mine, 0) for key, mine in steps.items()}
    outcomes = searched(objects, question.budget)
    asserted = any(step.call.outcome == OK for mine in steps.values() for step in mine)
    return _judged(history, columns, question, outcomes, *moves, asserted=asserted)


def kv_append(history: History | StoredHistory, question: Question) -> Verdict:
    """Texts by key: put replaces, append adds at the end, get returns the whole.

    A state is 64 bits of the text: each text is a polynomial in a prime base, so that the text of
    an append follows from the states before it.
    """
    columns = columns_of(history)
    steps: dict[Hashable, list[Step]] = {}
    for call in calls(columns, "put", "append", "get"):
        mine = steps.setdefault(call.key, [])
        text = "" if call.value is None else str(call.value)
        code, power = _hash(text)
        if call.f == "get" and call.outcome == OK:
            if call.value is not None or question.null_read == "asserts":
                mine.append(Step(call, READ, code, pure=True))
        elif call.f == "put" and happened(call):
            mine.append(Step(call, WRITE, code))
        elif call.f == "append" and happened(call):
            mine.append(Step(call, APPEND, code, power))
    initial, _ = _hash(str(question.initial or ""))
    objects = {key: Search(mine, initial) for key, mine in steps.items() if mine}
    outcomes = searched(objects, question.budget)
    asserted = any(step.kind == READ for mine in steps.values() for step in mine)
    names = ("put", "append", "get")
    return _judged(history, columns, question, outcomes, *names, asserted=asserted)


def _hash(text: str) -> tuple[int, int]:
    code, power = 0, 1
    # Half of a pair of surrogates has no UTF-8, and is a text to JSON.
    for byte in text.encode("utf-8", "surrogatepass"):
        code = (code * _BASE + byte + 1) & _MASK
        power = power * _BASE & _MASK
    return _signed(code), _signed(power)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


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
    objects: dict[Hashable, ObjectSearch] = {}
    if actions:
        objects[None] = ObjectSearch(actions, initial)
    outcomes = searched(objects, question.budget)
    names = ("txn", "read", "write")
    return _judged(history, columns, question, outcomes, *names, asserted=asserted)


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


def fifo_queue(history: History | StoredHistory, question: Question) -> Verdict:
    return _queues(history, question, {"enqueue", "offer"}, {"dequeue", "poll"}, first=True)


def stack(history: History | StoredHistory, question: Question) -> Verdict:
    return _queues(history, question, {"push"}, {"pop"}, first=False)


def _queues(
    history: History | StoredHistory,
    question: Question,
    puts: set[str],
    takes: set[str],
    *,
    first: bool,
) -> Verdict:
    columns = columns_of(history)
    actions: dict[Hashable, list[Action]] = {}
    piles: dict[Hashable, Pile] = {}
    for call in calls(columns, *puts, *takes):
        if not happened(call):
            continue
        unknown = call.f in takes and call.outcome == INFO
        value = None if unknown else canonical(call.value)
        move = _put(value) if call.f in puts else _take(value, first=first, unknown=unknown)
        name = (call.f in puts, value)
        actions.setdefault(call.key, []).append(Action(call, move, name))
        pile = piles.setdefault(call.key, Pile())
        if call.f in puts:
            pile.puts.append((call, value))
        elif unknown:
            pile.unsure.append(call)
        elif value == NOTHING:
            pile.empties.append(call)
        else:
            pile.takes.append((call, value))
    objects: dict[Hashable, Any] = {
        key: Decided(partial(decided, pile, first=first))
        if pile.is_decided(first=first)
        else ObjectSearch(actions[key], ())
        for key, pile in piles.items()
    }
    outcomes = searched(objects, question.budget)
    asserted = any(pile.takes or pile.empties for pile in piles.values())
    return _judged(history, columns, question, outcomes, *puts, *takes, asserted=asserted)


def _put(value: Hashable) -> Callable[[Any], Any]:
    return lambda state: (*state, value)


def _take(value: Hashable, *, first: bool, unknown: bool) -> Callable[[Any], Any]:
    """What a take found empty says so with null."""

    def move(state: Any) -> Any:
        if not state:
            return state if value == "null" and not unknown else None
        found = state[0] if first else state[-1]
        if not unknown and found != value:
            return None
        return state[1:] if first else state[:-1]

    return move


def _judged(
    history: History | StoredHistory,
    columns: Columns,
    question: Question,
    outcomes: dict[Hashable, Outcome],
    *names: str,
    asserted: bool,
) -> Verdict:
    """`asserted`: whether any operation that was ok could have been contradicted."""
    stats = {
        "ops": len(history),
        "objects": len(outcomes),
        "configurations": sum(outcome.visited for outcome in outcomes.values()),
    }
    found = [
        _told(columns, key, outcome)
        for key, outcome in outcomes.items()
        if outcome.linearizable is False
    ]
    done = columns.outcome[columns.has_f(*names) & (columns.outcome > 0)]
    # Where everything failed for certain there is no effect that nobody looked at; with Knossos,
    # that has an order.
    failed = done.size > 0 and bool((done == FAIL).all())
    sure = asserted or failed
    nothing = "" if sure else "no operation of this model that was ok asserts anything"
    if any(outcome.linearizable is None for outcome in outcomes.values()):
        nothing = f"no answer within {question.budget:,} configurations"
    findings = Findings(found=tuple(found), count=len(found), looked_at=len(outcomes))
    return rule_all([findings], NoLog(), stats=stats, nothing=nothing)


def _told(columns: Columns, key: Hashable, outcome: Outcome) -> Finding:
    stuck = outcome.stuck
    assert stuck is not None
    index = columns.index_of(stuck.row)
    named = decode(key) if isinstance(key, str) else key
    of = "" if key is None else f" of {named if isinstance(named, str) else shown(named)}"
    sentence = (
        f"no order of the operations{of} explains what process {columns.process_of(stuck.row)} saw "
        f"by the end of op {index}: {stuck.f} {shown(stuck.value)}"
    )
    witness = {"key": named, "f": stuck.f, "value": stuck.value}
    return Finding(
        type="nonlinearizable",
        ops=tuple(sorted({columns.index_of(call.row) for call in outcome.proof or (stuck,)})),
        because=f"{sentence}; {outcome.reason}" if outcome.reason else sentence,
        witness=witness if outcome.minimal else witness | {"minimal": False},
    )
