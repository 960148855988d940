"""What is said about a run, in words: on the terminal, in summary.txt, in CI and on the page.

Everything is told from results.json alone, so that it reads the same wherever it stands, and the
same tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Results = Mapping[str, Any]
"""What results.json holds."""

_SHOWN = 3
"""Of each type; results.json has more."""
_FAULTS = {
    "packet": "packet fault",
    "clock": "clock fault",
    "power": "power loss",
    "disk": "disk fault",
    "wire": "wire fault",
    "compact": "compaction",
    "retention": "log deletion",
    "membership": "membership change",
    "client": "client fault",
}
"""What to count of a nemesis where its name is no fault's."""


def validity(results: Results) -> str:
    return {True: "valid", False: "invalid"}.get(results["valid"], "unknown")


def forbidden(results: Results) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each anomaly that the contract forbids, with its type."""
    for check in results["checks"]:
        for type_, told in check["anomalies"].items():
            if is_forbidden(check, type_):
                for anomaly in told:
                    yield type_, anomaly


def counts(results: Results) -> dict[str, int]:
    """By type, how many anomalies there are; of each only the first few are told."""
    return {
        type_: max(check["stats"].get("count", 0), len(told))
        for check in results["checks"]
        for type_, told in check["anomalies"].items()
        if is_forbidden(check, type_)
    }


def verdict(results: Results) -> str:
    """In one line."""
    said = validity(results)
    if said == "invalid":
        found = sorted(counts(results).items())
        return "invalid: " + ", ".join(f"{count:,} {type_}" for type_, count in found)
    checks = results["checks"]
    if said == "unknown":
        reasons = [*results["doubts"]]
        reasons += [f"{each['checker']}: {why(each)}" for each in checks if is_unsure(each)]
        return "unknown: " + "; ".join(reasons or ["nothing was checked"])
    allowed = sum(len(told) for each in checks for told in each["anomalies"].values())
    more = f"; {allowed} allowed by the contract" if allowed else ""
    return f"valid: {len(checks)} checkers found nothing that must not be{more}"


def is_forbidden(check: Mapping[str, Any], type_: str) -> bool:
    """Neither allowed, nor impossible to say."""
    told = check["anomalies"][type_]
    is_error = any(each.get("severity", "error") == "error" for each in told)
    return type_ not in check["allowed"] and is_error


def why(check: Mapping[str, Any]) -> str:
    """Why a checker is unsure; runs of the first schema say it beside their figures."""
    return str(check["stats"].get("why") or check.get("why", ""))


def is_unsure(check: Mapping[str, Any]) -> bool:
    return not isinstance(check["valid"], bool)


def operations(figures: Mapping[str, Any]) -> str:
    """Those that were counted; of a run that came to no end, none."""
    ended, moved = (
        ", ".join(f"{figures[name]:,} {name}" for name in names if name in figures)
        for names in (("ok", "fail", "info"), ("acknowledged", "read"))
    )
    return "; ".join(said for said in (ended, moved) if said)


def survived(figures: Mapping[str, Any]) -> str:
    """Which faults took hold, and what went on meanwhile, in one sentence."""
    said = [_faults(name, count, figures) for name, count in figures["faults"].items()]
    if figures.get("elections") is not None:
        said.append(_counted(figures["elections"], "election"))
    said.append(f"{_counted(figures['writes'], 'write')} acknowledged meanwhile")
    return f"survived: {'; '.join(said)}"


def _faults(name: str, count: int, figures: Mapping[str, Any]) -> str:
    said = _counted(count, _FAULTS.get(name, name))
    cut_off = figures.get("leaders_cut_off", 0) if name == "partition" else 0
    if not cut_off:
        return said
    whose = "" if count == 1 else "each " if cut_off == count else f"{cut_off:,} of them "
    return f"{said}, {whose}cutting a leader off"


def _counted(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}es" if noun.endswith("s") else f"{count:,} {noun}s"


def contracts(results: Results) -> list[str]:
    """The promises that were broken, each once."""
    said = (anomaly["contract"] for _, anomaly in forbidden(results))
    return [sentence for sentence in dict.fromkeys(said) if sentence]


def again(results: Results) -> str:
    return f"run it again with: {results['command']}"


def summary(results: Results, directory: Path | str) -> list[str]:
    """The verdict, the first anomalies with what they break, and how to have it all again."""
    lines = [verdict(results)]
    for type_, count in sorted(counts(results).items()):
        told = [each for name, each in forbidden(results) if name == type_][:_SHOWN]
        lines += [f"  {type_}: {each['because']}" for each in told]
        if count > len(told):
            lines.append(f"  {type_}: and {count - len(told):,} more")
    lines += [f"  contract: {sentence}" for sentence in contracts(results)]
    counted = operations(results["figures"])
    if counted:
        lines.append(f"  {counted}")
    if validity(results) == "valid" and results["figures"].get("survived"):
        lines.append(f"  {survived(results['figures']['survived'])}")
    lines.append(f"  {directory}")
    lines.append(again(results))
    return lines
