"""Histories of consumer groups, told step by step."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.history.op import NEMESIS, background_process
from tests.unit.reports.stored_runs import Rows, stored


class GroupRows(Rows):
    """What members of groups do, and what is done to them. Times are in ms."""

    def subscribe(
        self,
        ms: float,
        process: int,
        group: str = "g",
        *,
        strategy: str = "eager",
        instance: str | None = None,
    ) -> int:
        value = {"group": group, "topics": ["orders"], "strategy": strategy, "commits": "sync",
                 "instance": instance}  # fmt: skip
        self.row(ms, process, "invoke", "subscribe", value)
        return self.row(ms, process, "ok", "subscribe", value)

    def assigned(
        self, ms: float, process: int, generation: int | None, keys: Sequence[str], group: str = "g"
    ) -> int:
        return self._change(ms, process, "assigned", generation, keys, group)

    def revoked(
        self, ms: float, process: int, generation: int | None, keys: Sequence[str], group: str = "g"
    ) -> int:
        return self._change(ms, process, "revoked", generation, keys, group)

    def lost(
        self, ms: float, process: int, generation: int | None, keys: Sequence[str], group: str = "g"
    ) -> int:
        return self._change(ms, process, "lost", generation, keys, group)

    def _change(
        self,
        ms: float,
        process: int,
        f: str,
        generation: int | None,
        keys: Sequence[str],
        group: str,
    ) -> int:
        value = {"group": group, "generation": generation, "keys": list(keys)}
        return self.row(ms, process, "ok", f, value)

    def leave(self, ms: float, process: int) -> int:
        self.row(ms, process, "invoke", "leave", None)
        return self.row(ms, process, "ok", "leave", None)

    def commit(
        self,
        ms: float,
        process: int,
        generation: int,
        offsets: dict[str, int],
        *,
        error: str | None = None,
        in_background: bool = False,
        group: str = "g",
    ) -> int:
        value = {"group": group, "generation": generation, "member": f"id-{process}",
                 "offsets": offsets}  # fmt: skip
        process = background_process(process, 0) if in_background else process
        self.row(ms, process, "invoke", "commit", value)
        return self.row(ms + 1, process, "fail" if error else "ok", "commit", value, error)

    def fault(self, ms: float, client: str, kind: str, until_ms: float | None = None) -> None:
        """Of one client; `until_ms` adds its end, which must be told in its turn."""
        name = f"churn {client}-{ms}/{client}"
        value: dict[str, Any] = {"kind": kind, "name": name, "client": client}
        self.row(ms, NEMESIS, "info", "start-churn", value)
        self.row(ms, NEMESIS, "info", "start-churn", {"fault": name, "proof": f"{client} is gone"})
        if until_ms is not None:
            self.row(until_ms, NEMESIS, "info", "stop-churn", {"fault": name, "healed": True})

    def in_order(self) -> "GroupRows":
        """By time, with indices of that order."""
        ordered = sorted(self.ops, key=lambda op: op.time_ns)
        made = GroupRows()
        for op in ordered:
            made.row(op.time_ns / 1e6, op.process, op.type, op.f, op.value, op.error)
        return made


def keys(*numbers: int, topic: str = "orders") -> list[str]:
    return [f"{topic}-{number}" for number in numbers]


CLIENTS = 14


def busy_groups(alpha: str = "alpha") -> GroupRows:
    """Two groups of 12 members with 50 partitions: a kill, a pause, two owners, refused commits, a
    static member that comes back, and one member that owns nothing."""
    rows = GroupRows()
    for number in range(7):
        shares = keys(*range(number * 8, min(50, number * 8 + 8))) if number < 6 else []
        rows.subscribe(100, number, alpha, instance="alpha-1" if number == 1 else None)
        rows.assigned(900 + number, number, 1, shares, alpha)
    for number in range(7, 12):
        scattered = keys(*range(number - 7, 50, 5))
        rows.subscribe(200, number, "beta", strategy="consumer")
        rows.assigned(1200 + number, number, 3, scattered, "beta")
    rows.commit(1500, 8, 3, {"orders-1": 5}, in_background=True, group="beta")
    # c1 is killed; its partitions have no owner until c7, which was idle, is given them.
    rows.fault(5000, "c1", "kill_client", 9000)
    rows.assigned(8000, 6, 2, keys(*range(8)), alpha)
    rows.subscribe(9000, 0 + CLIENTS, alpha)
    # The static c2 comes back as another process and has the same again, in the same generation.
    rows.fault(6000, "c2", "kill_client", 7000)
    rows.subscribe(7000, 1 + CLIENTS, alpha, instance="alpha-1")
    rows.assigned(7200, 1 + CLIENTS, 1, keys(*range(8, 16)), alpha)
    # c8 stands still, is thrown out without its knowledge, and its commit is refused.
    rows.fault(10_000, "c8", "pause_client", 16_000)
    rows.assigned(14_000, 9, 5, keys(*range(0, 50, 5)), "beta")
    rows.commit(16_100, 7, 3, {"orders-0": 9}, error="STALE_MEMBER_EPOCH: of c8", group="beta")
    rows.lost(16_500, 7, 3, keys(*range(0, 50, 5)), "beta")
    # Two owners in one generation.
    rows.assigned(12_000, 3, 1, keys(16, 17), alpha)
    rows.revoked(13_500, 3, 1, keys(16, 17), alpha)
    for ms in range(17_000, 19_000, 40):
        rows.leave(ms, 4)
        rows.subscribe(ms + 20, 4, alpha)
    rows.poll(20_000, 2, [])
    return rows.in_order()


def busy_run(directory: Path, group: str = "alpha") -> Path:
    run = stored(directory, busy_groups(group), {})
    (run / "plan.json").write_text(
        '{"workload": "group", "nemesis": "churn", "time_limit_s": 20.0, "nodes": 3, "seed": 7, '
        f'"on": "netns", "system": "reference", "concurrency": {CLIENTS}}}'
    )
    return run
