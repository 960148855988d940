"""What the files of a stored run say, checked once: MissingError, DamagedError, or sound values.

Everything that reads results.json, plan.json, began.json or env.json reads it here, so that a file
that was torn, changed by hand or written by another version is one sentence wherever it is met.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from harness.doubts import DoubtKind
from harness.store.inside import DamagedError, MissingError, read_inside
from harness.store.older_results import modernized
from harness.store.results import (
    SCHEMA,
    PartitionFigures,
    RunResults,
    ServedFigures,
    TrafficFigures,
    from_json,
)

RESULTS = "results.json"
PLAN = "plan.json"
BEGAN = "began.json"
ENVIRONMENT = "env.json"

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Valid = bool | Literal["unknown"]


class _OlderAnomaly(TypedDict):
    ops: list[int]
    because: str
    severity: NotRequired[Literal["error", "info", "unknown"]]
    contract: str
    witness: dict[str, Any]


class _Anomaly(_OlderAnomaly):
    promise: Literal["never", "allowed", "impossible to say"]
    row: str


class _Stats(TypedDict):
    count: NotRequired[_Count]
    why: NotRequired[str]


_OlderCheck = TypedDict(
    "_OlderCheck",
    {
        "checker": str,
        "model": NotRequired[str],
        "valid": _Valid,
        "anomaly-types": list[str],
        "allowed": list[str],
        "anomalies": dict[str, list[_OlderAnomaly]],
        "not": NotRequired[list[str]],
        "stats": _Stats,
        "why": NotRequired[str],
    },
)
_Check = TypedDict(
    "_Check",
    {
        "checker": str,
        "model": str,
        "valid": _Valid,
        "anomalies": dict[str, list[_Anomaly]],
        "not": list[str],
        "stats": _Stats,
    },
)


class _Fault(TypedDict):
    nemesis: str
    fault: str
    began_ms: NotRequired[float | None]
    took_hold_ms: NotRequired[float | None]
    healed_ms: NotRequired[float | None]


class _Survived(TypedDict):
    faults: dict[str, _Count]
    writes: _Count
    elections: NotRequired[_Count | None]
    leaders_cut_off: NotRequired[_Count]


class _Figures(TypedDict):
    ok: NotRequired[_Count]
    fail: NotRequired[_Count]
    info: NotRequired[_Count]
    acknowledged: NotRequired[_Count]
    read: NotRequired[_Count]
    partitions: NotRequired[dict[str, PartitionFigures]]
    traffic: NotRequired[dict[str, TrafficFigures]]
    faults: NotRequired[list[_Fault]]
    served_again: NotRequired[list[ServedFigures]]
    survived: NotRequired[_Survived | None]
    states: NotRequired[dict[str, _Count | None]]


class _Doubt(TypedDict):
    kind: DoubtKind
    subject: str
    detail: str


class _NotJudged(TypedDict):
    checker: str
    need: str


class _Cause(TypedDict):
    sentence: str


class _OlderResults(TypedDict):
    """Schemas 1 and 2, as far as anything here depends on them."""

    run: str
    command: str
    valid: _Valid
    doubts: list[str]
    figures: _Figures
    checks: list[_OlderCheck]


_Results = TypedDict(
    "_Results",
    {
        "run": str,
        "command": str,
        "valid": _Valid,
        "doubts": list[_Doubt],
        "consistency": str,
        "not-judged": list[_NotJudged],
        "figures": _Figures,
        "causes": NotRequired[list[_Cause]],
        "checks": list[_Check],
    },
)
"""docs/reference/results.schema.json, as far as anything here depends on it."""


class _Schema(TypedDict):
    schema: NotRequired[int]


class _ShownPlan(TypedDict):
    """What a page takes from a plan; runs of other versions may have other fields beside it."""

    workload: NotRequired[str]
    nemesis: NotRequired[str]
    nodes: NotRequired[Annotated[int, msgspec.Meta(ge=0, le=999)]]
    time_limit_s: NotRequired[float]


class _Began(TypedDict):
    wall: str
    stage_ns: int


@dataclass(frozen=True, slots=True)
class Began:
    """Both clocks at time 0 of the history."""

    wall: datetime
    stage_ns: int


def read_results(directory: Path) -> RunResults:
    """The verdict and its reasons. MissingError if the run came to no end."""
    try:
        schema = _checked(directory, RESULTS, _Schema).get("schema", 1)
        if schema == SCHEMA:
            return from_json(_checked(directory, RESULTS, _Results))
        if schema > SCHEMA:
            raise DamagedError(
                directory / RESULTS,
                f"its schema is {schema}, and this version reads up to {SCHEMA}",
            )
        return from_json(modernized(_checked(directory, RESULTS, _OlderResults)))
    except MissingError:
        raise MissingError(
            f"{directory} has no {RESULTS}; harness analyze judges it first"
        ) from None
    except DamagedError as damaged:
        raise DamagedError(damaged.path, damaged.why, "harness analyze judges it again") from None


def read_plan(directory: Path) -> Mapping[str, Any]:
    """The plan as it is shown; empty if there is none."""
    try:
        return _checked(directory, PLAN, _ShownPlan)
    except MissingError:
        return {}


def read_environment(directory: Path) -> Mapping[str, Any]:
    """Empty if nobody wrote it down."""
    try:
        return _checked(directory, ENVIRONMENT, dict[str, Any])
    except MissingError:
        return {}


def read_began(directory: Path) -> Began | None:
    """None if nobody wrote it down."""
    try:
        found = _checked(directory, BEGAN, _Began)
        wall = datetime.fromisoformat(found["wall"])
    except MissingError:
        return None
    except ValueError as error:
        raise DamagedError(directory / BEGAN, str(error)) from None
    if wall.tzinfo is None:
        raise DamagedError(directory / BEGAN, f"{found['wall']} names no time zone")
    return Began(wall, found["stage_ns"])


def _checked(directory: Path, name: str, shape: Any) -> Mapping[str, Any]:
    """The value itself: conversion would leave out the fields that the shape does not name."""
    content = read_inside(directory, name)
    try:
        found: Mapping[str, Any] = json.loads(content)
        msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise DamagedError(directory / name, str(error)) from None
    except RecursionError:
        raise DamagedError(directory / name, "it is nested too deeply") from None
    except ValueError as error:
        why = str(error) if content.strip() else "it is empty"
        raise DamagedError(directory / name, why) from None
    return found
