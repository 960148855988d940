"""Rows of the small tables: the plan of a run, its faults, its environment and its results.

A file that is damaged, or was written by a newer version, is set aside by itself: the run keeps its
history, and `harness lake check` judges it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from harness.run.outcome import BY_INVARIANTS
from harness.store.inside import DamagedError, MissingError, text_inside
from harness.store.results import RunResults, to_json
from harness.store.stored_run import ENVIRONMENT, PLAN, RESULTS, read_environment, read_results
from pipeline.reading.rejection import TEXT_MAX, Rejection
from pipeline.reading.source import CLUSTER, Source
from pipeline.verdict_rows import rows_of_judgement

Row = dict[str, Any]

_INT64: Final = 1 << 63
_OUTCOMES: Final = ("missed", "skipped", "not_healed", "lapsed")
_FAULT_TIMES: Final = ("began_ms", "took_hold_ms", "healed_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of a history."""

    operations: int
    elements: int
    length_ns: int
    torn: bool
    timestamps: bool
    set_aside: int = 0


@dataclass(slots=True)
class Facts:
    rows: dict[str, list[Row]] = field(default_factory=dict)
    """Rows by table."""
    rejected: list[Rejection] = field(default_factory=list)

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)


def facts_of(source: Source, counts: Counts, model: str) -> Facts:
    facts = Facts()
    run: Row = {
        "name": source.name,
        "began": source.began,
        "source": source.path,
        "model": model,
        "fingerprint": source.fingerprint,
        "operations": counts.operations,
        "elements": counts.elements,
        "length_ns": counts.length_ns,
        "torn": counts.torn,
        "set_aside": counts.set_aside,
        "timestamps": counts.timestamps,
    }
    if source.kind == "run":
        directory = source.directory
        run |= _planned(facts, source)
        run |= _environment(facts, source, run.get("system"))
        results = _results(facts, source)
        if results is not None:
            run |= _judged(facts, results)
        _cluster(facts, source.run, directory)
    facts.add("runs", **run)
    return facts


def _planned(facts: Facts, source: Source) -> Row:
    """Columns from a plan of any version, whose fields may differ."""
    text = text_inside(source.directory, PLAN)
    if not text:
        return {}
    try:
        plan = json.loads(text)
        if not isinstance(plan, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        _set_aside(facts, source, PLAN, str(error))
        return {}
    return {
        "model": None,
        "plan": text,
        "workload": _text(plan.get("workload")),
        "nemesis": _text(plan.get("nemesis")),
        "place": _text(plan.get("on")),
        "system": _text(plan.get("system")),
        "client": _text(plan.get("client")),
        "acks": _text(plan.get("acks")),
        "seed": _integer(plan.get("seed"), _INT64),
        "nodes": _integer(plan.get("nodes"), 1 << 31),
        "time_limit_s": _number(plan.get("time_limit_s")),
    }


def _environment(facts: Facts, source: Source, system: str | None) -> Row:
    try:
        found = read_environment(source.directory)
    except DamagedError as damaged:
        _set_aside(facts, source, ENVIRONMENT, damaged.why)
        return {}
    if not found:
        return {}
    text = text_inside(source.directory, ENVIRONMENT)
    return {"environment": text, "release": release_of(found, system)}


def release_of(environment: Mapping[str, Any], system: str | None) -> str | None:
    """The tested version: that of the system, or the commit of the reference broker."""
    said = environment.get("system")
    if isinstance(said, dict) and isinstance(said.get("version"), str):
        return str(said["version"])
    if system not in (None, "reference"):
        return None
    git = environment.get("git")
    if isinstance(git, dict) and isinstance(git.get("head"), str):
        return str(git["head"])[:12] + ("+changes" if git.get("is_dirty") else "")
    packages = environment.get("packages")
    return _text(packages.get("log-trial")) if isinstance(packages, dict) else None


def _results(facts: Facts, source: Source) -> RunResults | None:
    try:
        return read_results(source.directory)
    except MissingError:
        return None
    except DamagedError as damaged:
        _set_aside(facts, source, RESULTS, damaged.why)
        return None


def _judged(facts: Facts, results: RunResults) -> Row:
    _faults(facts, results.figures.get("faults", ()))
    for table, row in rows_of_judgement(results.verdicts, results.doubts):
        facts.add(table, **row)
    # Findings of checkers are in tables. Invariants are kept: only the simulator can judge them.
    others = tuple(each for each in results.verdicts if each.checker == BY_INVARIANTS)
    return {
        "verdict": results.validity.value,
        "command": results.command,
        "results": json.dumps(to_json(replace(results, verdicts=others))),
    }


def _faults(facts: Facts, faults: Any) -> None:
    for number, fault in enumerate(faults):
        why = next((name for name in _OUTCOMES if fault.get(name)), None)
        held = "held" if fault.get("proof") else "unknown"
        facts.add(
            "faults",
            number=number,
            nemesis=fault["nemesis"],
            kind=_text(fault.get("kind")),
            fault=fault["fault"],
            outcome=held if why is None else why.replace("_", "-"),
            proof=_text(fault.get(why or "proof")),
            **{name: _number(fault.get(name)) for name in _FAULT_TIMES},
        )


def _cluster(facts: Facts, run: str, directory: Path) -> None:
    try:
        lines = text_inside(directory, CLUSTER).splitlines()
    except DamagedError as damaged:
        facts.rejected.append(Rejection(run=run, source=str(damaged.path), reason=damaged.why))
        return
    for number, line in enumerate(lines, 1):
        try:
            facts.add("cluster", line=line, **_change(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError):
            facts.rejected.append(
                Rejection(
                    run=run,
                    source=str(directory / CLUSTER),
                    place=f"line {number}",
                    reason="it is no change of the cluster as a run writes them",
                    text=line[:TEXT_MAX],
                )
            )


def _change(told: Any) -> Row:
    """Columns of a line. KeyError, TypeError or ValueError for a line of another form."""
    time_ns, node = told["time_ns"], told["node"]
    if type(time_ns) is not int or not abs(time_ns) < _INT64:
        raise ValueError("time_ns")
    rest = [name for name in told if name not in ("time_ns", "node")]
    if "key" in told:
        return {"time_ns": time_ns, "what": "leader", "key": _text(told["key"])}
    what = _CHANGES.get(rest[0], rest[0]) if rest else "node"
    return {"time_ns": time_ns, "what": what, "key": _text(node)}


_CHANGES: Final = {"clock_offset_s": "clock"}


def _set_aside(facts: Facts, source: Source, name: str, why: str) -> None:
    facts.rejected.append(
        Rejection(run=source.run, source=str(source.directory / name), reason=why)
    )


def rejected_rows(rejections: list[Rejection]) -> Iterator[Row]:
    for each in rejections:
        yield {
            "run": each.run,
            "source": each.source,
            "place": each.place,
            "reason": each.reason,
            "text": each.text,
        }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value is not True else None


def _integer(value: Any, end: int) -> int | None:
    return value if type(value) is int and -end <= value < end else None
