"""Small runs as they are stored, made by hand: one with anomalies, and any value in it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.history.history import History
from harness.history.op import NEMESIS, Op, OpType
from reports.limits import Limits
from reports.material import Material
from reports.model import Page, page
from reports.placing import placed_causes

KEY = "orders-3"
COMMAND = "harness test -w queue --nemesis kill --time-limit 60 --seed 7"
HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 1'>",
    '"><svg onload=window.hacked=1>',
    "]]></title></style><b>&amp;$x^2$ {{ 7 * 7 }} {% raw %}",
    "javascript:window.hacked=1",
    "\x00\x1b[31m\u202e\ud7ff\uffff",
)


def page_of(material: Material) -> Page:
    return page(material, placed_causes(material), Limits())


class Rows:
    """A history that is told step by step."""

    def __init__(self) -> None:
        self.ops: list[Op] = []

    def row(
        self, ms: float, process: int, type_: OpType, f: str, value: Any, error: str | None = None
    ) -> int:
        self.ops.append(Op(len(self.ops), int(ms * 1e6), process, type_, f, value, error))
        return len(self.ops) - 1

    def send(self, ms: float, process: int, value: Any, offset: int, key: str = KEY) -> int:
        self.row(ms, process, "invoke", "send", [["send", key, value]])
        return self.row(ms + 4, process, "ok", "send", [["send", key, [offset, value]]])

    def poll(self, ms: float, process: int, records: Sequence[Any], key: str = KEY) -> int:
        self.row(ms, process, "invoke", "poll", [["poll"]])
        return self.row(ms + 2, process, "ok", "poll", [["poll", {key: list(records)}]])


def lost_write(
    directory: Path, values: Sequence[Any] = (), key: str = KEY, strokes: int = 1
) -> Path:
    """A record was acknowledged at offset 4 while n1 was dead, and nobody ever read it.

    `strokes`: how many faults begin one shortly after the other.
    """
    rows = Rows()
    told = [*values, *range(100, 110 - len(values))]
    fault = {"kind": "kill", "name": "kill 1/n1", "at_ms": 1000.0, "for_ms": 900.0, "node": "n1"}
    for offset, value in enumerate(told[:3]):
        rows.send(200 * offset, 0, value, offset, key)
    rows.row(700, NEMESIS, "info", "start-kill", fault)
    rows.row(720, NEMESIS, "info", "start-kill", {"fault": "kill 1/n1", "proof": "n1 is gone"})
    for number in range(2, strokes + 1):
        other = {"kind": "kill", "name": f"kill {number}/n2", "node": "n2"}
        rows.row(720 + 10 * number, NEMESIS, "info", "start-kill", other)
    rows.send(800, 0, told[3], 3, key)
    gone = rows.send(900, 1, told[4], 4, key)
    rows.row(1000, 2, "invoke", "send", [["send", key, told[8]]])
    rows.row(1100, 2, "fail", "send", [["send", key, told[8]]], f"REFUSED: {told[0]}")
    rows.row(1200, 3, "invoke", "send", [["send", key, told[9]]])
    rows.row(1500, NEMESIS, "info", "stop-kill", {"fault": "kill 1/n1"})
    rows.row(1600, NEMESIS, "info", "stop-kill", {"fault": "kill 1/n1", "healed": True})
    for offset in (5, 6, 7):
        rows.send(1500 + 100 * offset, 0, told[offset], offset, key)
    seen = [[offset, told[offset]] for offset in (0, 1, 2, 3, 5, 6, 7)]
    read = rows.poll(3000, 4, seen, key)
    anomaly = {
        "ops": [gone, read],
        "because": f"process 1 was told that {told[4]} is at offset 4 of {key}; never read",
        "severity": "error",
        "contract": "With acks=all an acknowledged record is never lost.",
        "witness": {"key": key, "value": told[4], "offset": 4},
    }
    run = stored(directory, rows, {"lost-write": [anomaly]})
    write_cluster(run, key)
    return run


def write_cluster(run: Path, key: str = KEY) -> None:
    """n1 leads until it is dead, n2 after it; n1 decides, then n3; a clock is looked at."""
    led = {"key": key, "replicas": ["n1", "n2", "n3"]}
    rows = [
        {"time_ns": 100_000_000, "node": "n1", **led, "leader": "n1", "epoch": 0,
         "isr": ["n1", "n2", "n3"]},
        {"time_ns": 100_000_000, "node": "n1", "controller": "n1", "epoch": 1},
        {"time_ns": 1_000_000_000, "node": "n2", **led, "leader": None, "epoch": 1,
         "isr": ["n1", "n2", "n3"]},
        {"time_ns": 1_100_000_000, "node": "n2", **led, "leader": "n2", "epoch": 2,
         "isr": ["n2", "n3"]},
        {"time_ns": 1_200_000_000, "node": "n2", "controller": "n3", "epoch": 2},
        {"time_ns": 1_300_000_000, "node": "n3", "clock_offset_s": -0.25},
        {"time_ns": 2_000_000_000, "node": "n2", **led, "leader": "n2", "epoch": 2,
         "isr": ["n2", "n3", "n1"]},
    ]  # fmt: skip
    (run / "cluster.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def stored(directory: Path, rows: Rows, anomalies: dict[str, list[dict[str, Any]]]) -> Path:
    run = directory / "queue kill" / "20261116T001530.123Z"
    run.mkdir(parents=True)
    History.of(rows.ops).write_parquet(run / "history.parquet")
    (run / "results.json").write_text(json.dumps(results(anomalies)))
    (run / "plan.json").write_text(
        '{"workload": "queue", "nemesis": "kill", "time_limit_s": 60.0, "nodes": 3, "seed": 7, '
        '"on": "netns", "system": "reference"}'
    )
    (run / "env.json").write_text('{"python": "3.11.7", "git": null}')
    (run / "began.json").write_text('{"wall": "2026-11-16T00:15:31+00:00", "stage_ns": 0}')
    (run / "n1").mkdir()
    (run / "n1" / "broker.log").write_text(
        '{"time": "2026-11-16T00:15:31.800Z", "level": "info", "logger": "broker", '
        '"message": "fenced <b>"}\nnonsense\n'
        "[2026-11-16 00:15:31,900] INFO Kafka's own form (kafka.Server)\n"
        "[2026-11-16 00:15:39,900] INFO too late (kafka.Server)\n"
    )
    return run


def results(anomalies: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    checks = [
        {
            "checker": name,
            "valid": name not in anomalies,
            "model": "kafka",
            "anomaly-types": [name] if name in anomalies else [],
            "allowed": [],
            "anomalies": {name: anomalies[name]} if name in anomalies else {},
            "not": [],
            "stats": {"looked-at": 8, "count": len(anomalies.get(name, []))},
        }
        for name in dict.fromkeys(["lost-write", "duplicate", *anomalies])
    ]
    fault = {"nemesis": "kill", "fault": "kill 1/n1", "kind": "kill", "proof": "n1 is gone"}
    return {
        "schema": 2,
        "run": "20261116T001530.123Z",
        "command": COMMAND,
        "valid": not anomalies,
        "doubts": [],
        "figures": {
            "ok": 9, "fail": 1, "info": 1, "acknowledged": 8, "read": 7,
            "faults": [{**fault, "began_ms": 700.0, "took_hold_ms": 720.0, "healed_ms": 1600.0}],
        },
        "checks": checks,
    }  # fmt: skip


def with_figures(run: Path, **figures: Any) -> Path:
    """The same run with other figures."""
    told = json.loads((run / "results.json").read_text())
    told["figures"] |= figures
    (run / "results.json").write_text(json.dumps(told))
    return run


def cycle() -> dict[str, Any]:
    """Two transactions, each before the other."""
    return {
        "ops": [1, 3],
        "because": "let T1 = op 1, T2 = op 3: T1 < T2, because T1 appended 1 to x, which T2 read; "
        "however T2 < T1, because T2 read y when nothing was its last, before T1 appended 2: "
        "a contradiction",
        "severity": "error",
        "contract": "Transactions are serializable.",
        "witness": {
            "cycle": [1, 3, 1],
            "steps": [
                {
                    "type": "wr",
                    "key": "x",
                    "value": 1,
                    "because": "T1 < T2, because T1 appended 1 to x, which T2 read",
                },
                {
                    "type": "rw",
                    "key": "y",
                    "because": "T2 < T1, because T2 read y when nothing was its last, before T1 "
                    "appended 2",
                },
            ],
        },
    }
