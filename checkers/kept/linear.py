"""nonlinearizable-register: puts and gets of a name against the order of time, by a search.

Puts are held to linearizability: each takes effect at one moment between its invocation and its
acknowledgement. Gets are held to it as far as they read through the high watermark of the leader
that answered:

* A get reads its partition up to an end, and returns the last value below that end. It must come
  after every put that was acknowledged below the end before the get began.
* Kafka's leaders hold no lease. A deposed leader may answer with an end that lacks what was
  acknowledged elsewhere. So a get may take effect before operations that show a later end: puts
  acknowledged at or beyond it, and gets that read further.

That is linearizable writes with reads that may be old but never contradict each other: what
ZooKeeper promises as ordered sequential consistency. Puts of unknown outcome may have taken effect
at any time after they began, or never.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from itertools import accumulate
from typing import NamedTuple

from checkers.checker import Checker, of_facts
from checkers.clauses import BLIND_RETRIES, LOSS, never
from checkers.columns import FAIL, INFO, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.kept.registers import UNKNOWN, told
from checkers.kernels.wgl import READ, WRITE
from checkers.linear.calls import Call
from checkers.linear.registers import Codes, searched_registers
from checkers.linear.search import Outcome, Step
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, value_text, who
from harness.history import kinds

NAME = "nonlinearizable-register"
_BUDGET = 5_000_000
"""Configurations in all: some ten seconds."""


_NEVER = 1 << 62


class _Shown(NamedTuple):
    """An operation that showed how far the log of its name had come."""

    end: int
    ret: int


class _Further:
    """When operations first showed the log of a name to have come further than some end."""

    def __init__(self, shown: list[_Shown]) -> None:
        self._shown = sorted(shown)
        returns = [each.ret for each in self._shown]
        self._first = [*reversed([*accumulate(reversed(returns), min)]), _NEVER]

    def first_return(self, *, beyond: int) -> int:
        """The earliest return of an operation with an end beyond this one."""
        return self._first[bisect_right(self._shown, (beyond, _NEVER))]


def nonlinearizable_registers(facts: LogFacts) -> Findings:
    codes = Codes()
    nothing_put = codes.of(None)
    steps = _steps(facts, codes)
    gets = sum(step.kind == READ for mine in steps.values() for step in mine)
    outcomes = searched_registers(steps, nothing_put, _BUDGET)
    found = [
        _finding(facts, key, outcome)
        for key, outcome in outcomes.items()
        if outcome.linearizable is False
    ]
    is_open = any(outcome.linearizable is None for outcome in outcomes.values())
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)[:SHOWN]),
        count=len(found),
        looked_at=gets,
        nothing="no get of a name that was put returned anything",
        unsure=f"no answer within {_BUDGET:,} configurations" if is_open else "",
    )


def _steps(facts: LogFacts, codes: Codes) -> dict[Hashable, list[Step]]:
    """By name. Names that nobody put to are left out: what a get of them says is phantom-read's."""
    columns = facts.columns
    steps: dict[Hashable, list[Step]] = {}
    shown: dict[Hashable, list[_Shown]] = {}
    for row, key, offset, value in told(facts, kinds.PUT, kinds.PUT_AT):
        outcome = int(columns.outcome[row])
        if outcome == FAIL:
            continue
        ret = None if outcome == INFO else row
        call = Call(row, int(columns.call[row]), ret, "put", value, outcome, key)
        steps.setdefault(key, []).append(Step(call, WRITE, codes.of(value)))
        if ret is not None:
            # Where it is was not told, so it may be beyond any end.
            end = offset + 1 if offset != UNKNOWN else _NEVER
            shown.setdefault(key, []).append(_Shown(end, ret))
    gets = [
        (row, key, end, value)
        for row, key, end, value in told(facts, kinds.GET_AT)
        if key in steps and columns.outcome[row] == OK
    ]
    for row, key, end, _ in gets:
        if end != UNKNOWN:
            shown.setdefault(key, []).append(_Shown(end, row))
    further = {key: _Further(each) for key, each in shown.items()}
    for row, key, end, value in gets:
        begun = min(int(columns.call[row]), further[key].first_return(beyond=end))
        call = Call(row, begun, row, "get", value, OK, key)
        steps[key].append(Step(call, READ, codes.of(value), pure=True))
    return steps


def _finding(facts: LogFacts, key: Hashable, outcome: Outcome) -> Finding:
    assert isinstance(key, int)
    stuck = outcome.stuck
    assert stuck is not None
    name = key_text(facts, key)
    proof = outcome.proof or (stuck,)
    did = "got" if stuck.f == "get" else "put"
    witness = {"key": name, "f": stuck.f, "value": stuck.value}
    return Finding(
        type=NAME,
        ops=tuple(sorted({facts.columns.index_of(call.row) for call in proof})),
        because=f"no order of the puts and gets of {name} explains that {who(facts, stuck.row)} "
        f"{did} {value_text(stuck.value)}",
        witness=witness if outcome.minimal else witness | {"minimal": False},
    )


CHECKERS = (
    Checker(
        name=NAME,
        about="No order of puts and gets, each at one moment, explains what clients saw.",
        look=of_facts(nonlinearizable_registers),
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never(
                "Writes to a name are linearizable, and a read shows a state no older "
                "than the end offset returned to it."
            ),
        ),
        stands=True,
    ),
)
