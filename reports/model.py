"""Everything a page may show of a stored run, as values; reports/html.py only lays it out.

The page holds at most so much, whatever the run holds: a few anomalies of each kind in full, the
operations around them, and counts of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkers.verdict import Validity, Verdict
from harness.store.stored_run import read_environment
from reports import faults, logs, sentences
from reports.anomalies import Group, Kind, choose, groups, kinds
from reports.call_rows import Call, around
from reports.limits import Limits
from reports.material import Material, configuration, files, schedule, table
from reports.overview import Overview, overview
from reports.placing import Found
from reports.quality import Quality, quality
from reports.wording import readable, seconds


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    verdict: str
    why: str
    looked_at: int | None


@dataclass(frozen=True, slots=True)
class Page:
    run: str
    title: str
    verdict: str
    sentence: str
    lead: str
    meta: str
    command: str
    overview: Overview | None
    groups: tuple[Group, ...]
    kinds: tuple[Kind, ...]
    quality: Quality | None
    checks: tuple[Check, ...]
    not_judged: tuple[str, ...]
    plots: str
    calls: tuple[Call, ...]
    calls_left: int
    logs: Mapping[str, tuple[list[logs.Line], int]]
    logs_at: str
    plan: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    configuration: Mapping[str, str]
    schedule: str
    files: tuple[str, ...]


def page(material: Material, found: Found, limits: Limits) -> Page:
    results, plan, calls = material.results, material.plan, material.calls
    by_cause = found.causes
    chosen = choose(by_cause, results.counts(), limits)
    guilty = {index for each in found.placed for index in each.anomaly.ops}
    moments = sorted(each.at_ns for each in found.placed if each.at_ns is not None)
    first = moments[0] if moments else None
    shown, left = ((), 0) if calls is None else around(calls, guilty, moments, limits)
    return Page(
        run=results.run,
        title=f"{plan.get('workload', '?')} × {plan.get('nemesis', '?')}",  # noqa: RUF001
        verdict=results.validity.value,
        sentence=sentences.verdict(results),
        lead=_lead(material, first, len(by_cause)),
        meta=_meta(material),
        command=results.command,
        overview=overview(material, by_cause),
        groups=groups(by_cause, chosen),
        kinds=kinds(material, chosen, limits),
        quality=None if calls is None or material.read is None else quality(
            results, calls, material.bands, material.read, material.trace, material.leading),
        checks=tuple(map(_check, results.verdicts)),
        not_judged=tuple(sentences.not_judged(results)),
        plots=material.plots,
        calls=shown,
        calls_left=left,
        logs={} if first is None else logs.lines_around(material.directory, first),
        logs_at="" if first is None else seconds(first),
        plan=table(_asked(plan)),
        environment=table(read_environment(material.directory)),
        configuration=configuration(material.directory),
        schedule=schedule(material.directory),
        files=files(material.directory),
    )  # fmt: skip


def _asked(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """The plan without what has no meaning for this run: the simulator has clients of its own."""
    without = ("client",) if plan.get("on") == "sim" else ()
    return {name: value for name, value in plan.items() if name not in without}


def _lead(material: Material, first: int | None, count: int) -> str:
    """The verdict in figures: how much, of how much, and when first."""
    done = 0 if material.calls is None else len(material.calls)
    counted = material.results.counts()
    if not counted:
        survived = material.results.figures.get("survived")
        said = f"{done:,} operations"
        is_valid = material.results.validity is Validity.VALID
        return f"{said}; {sentences.survived(survived)}." if survived and is_valid else f"{said}."
    total, kinds = sum(counted.values()), len(counted)
    said = f"{total:,} anomal{'y' if total == 1 else 'ies'} of {kinds} kind{'s'[: kinds > 1]}"
    said += f" with {count:,} cause{'s'[: count > 1]} in {done:,} operations."
    if first is not None:
        into = faults.into(material.bands, first)
        said += f" The first is at {seconds(first)}{', ' + into if into else ''}."
    return said


def _meta(material: Material) -> str:
    plan = material.plan
    time = readable(material.results.run)
    parts = [f"{time} UTC"] if time else []
    if plan:
        parts += [f"{plan.get('time_limit_s', 0):g} s", f"{plan.get('nodes')} nodes"]
        parts += [
            f"on {plan.get('on')}",
            f"{plan.get('system')} broker",
            f"seed {plan.get('seed')}",
        ]
    git = read_environment(material.directory).get("git")
    if isinstance(git, dict):
        parts.append(f"git {str(git.get('head'))[:7]}{' and changes' * bool(git.get('is_dirty'))}")
    return " · ".join(parts)


def _check(verdict: Verdict) -> Check:
    looked_at = verdict.stats.get("looked-at")
    return Check(verdict.checker, verdict.validity.value, verdict.why, looked_at)
