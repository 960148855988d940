"""What GitHub Actions shows of a run: a step summary, and an annotation for each anomaly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkers.verdict import Validity
from harness.store.results import RunResults
from reports import sentences

_ANNOTATIONS_MAX = 10
_SIGNS = {Validity.VALID: "✅", Validity.INVALID: "❌", Validity.UNKNOWN: "❔", None: "❌"}


def workflow_commands(results: RunResults, of: str = "") -> list[str]:
    """Workflow commands, one line each: the first of every type, and each doubt as a warning.

    `of` names the run where there are several.
    """
    said = []
    prefix = f"{of}: " if of else ""
    counted = results.counts()
    for anomaly in results.anomalies:
        if anomaly.type in counted:
            count = counted.pop(anomaly.type)
            title = f"{count:,} {anomaly.type}" if count > 1 else anomaly.type
            said.append(f"::error title={_property(prefix + title)}::{_data(anomaly.because)}")
    if results.validity is Validity.UNKNOWN:
        title = _property(f"{prefix}unknown")
        said.append(f"::warning title={title}::{_data(sentences.verdict(results))}")
    return said[:_ANNOTATIONS_MAX]


def no_end(of: str, why: str) -> str:
    """A run that could not be made."""
    return f"::error title={_property(f'{of}: no end')}::{_data(why)}"


def step_summary(lines: Sequence[str], validity: Validity | None) -> str:
    """The summary's own lines, as text: fenced, so that no value becomes Markdown.

    `validity` is None for a run that could not be made.
    """
    longest = max((len(run) for line in lines for run in _ticks(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([_SIGNS[validity], "", f"{fence}text", *lines, fence, ""])


def write_step_summary(lines: Sequence[str], validity: Validity | None, path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(step_summary(lines, validity) + "\n")


def _ticks(line: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in line).split() if run]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
