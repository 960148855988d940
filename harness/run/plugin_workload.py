"""Whether a plugin's workload says things that a run can do, found out before anything is started.

Plugins are not type-checked by us. An operation that raises, that is no Invocation, that no client
knows or that no history can store would end the run when its turn comes, after minutes of work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from harness.client.base import Invocation
from harness.history.operations import OPERATIONS
from harness.registry import REGISTRY, is_ours
from harness.run.plan import Plan
from workloads.base import Workload

_DRAWN_MAX = 1000


def why_unusable(plan: Plan, workload: Workload) -> str | None:
    """Reason why the clients of this plan cannot do what a plugin's workload says; or None."""
    if is_ours(REGISTRY.workloads[plan.workload]):
        return None
    if not workload.checkers:
        return f"-w {plan.workload} names no checker, so that nothing would be judged; name one"
    can_do = REGISTRY.clients[plan.client].operations or frozenset(OPERATIONS)
    for call, ask in _calls(plan, workload):
        try:
            said = list(ask())
        except Exception as error:
            wrong = f"raised {type(error).__name__}: {error}"
        else:
            wrong = next(filter(None, (_why_not_done(each, can_do) for each in said)), "")
        if wrong:
            return f"-w {plan.workload} cannot be used: {call} {wrong}"
    return None


def _calls(plan: Plan, workload: Workload) -> Iterator[tuple[str, Callable[[], Iterable[Any]]]]:
    """What the run asks of the workload: how it is written, and how to ask for its answers."""
    for client in range(plan.concurrency):
        yield f"opening({client}, {client})", partial(workload.opening, client, client)
        for ordinal in range(max(1, _DRAWN_MAX // plan.concurrency)):
            yield f"operation({client}, {ordinal})", partial(_one, workload, client, ordinal)
        yield f"closing({client}, 0)", partial(workload.closing, client, 0)


def _one(workload: Workload, client: int, ordinal: int) -> Iterable[Any]:
    return [workload.operation(client, ordinal)]


def _why_not_done(said: Any, can_do: frozenset[str]) -> str:
    if not isinstance(said, Invocation):
        return f"returned {said!r} instead of an Invocation"
    if said.f not in can_do:
        return f"returned the operation {said.f!r}; clients have {', '.join(sorted(can_do))}"
    try:
        json.dumps(said.value)
    except (TypeError, ValueError) as error:
        return f"returned a value that no history can store: {error}"
    return ""
