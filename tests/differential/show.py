"""Answers as text for people: one line per step, equal answers of several versions together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from broker.protocol.apis import api_name
from tests.differential.normalise import Symbols, normalised
from tests.differential.play import Play
from tests.differential.talk import Step

_QUIET: tuple[Any, ...] = (None, "", b"", [], {}, False, -(2**31))
"""Values that say nothing: the lowest integer is Kafka's word for operations not asked for."""


def shown_plays(plays: Iterable[Play]) -> Iterator[str]:
    """All versions of one story against one broker."""
    grouped: dict[tuple[str, int], dict[str, list[int]]] = {}
    for play in plays:
        symbols = Symbols(play.label)
        seen: Counter[str] = Counter()
        for step in play.steps:
            seen[step.name] += 1
            symbols.step = step.name
            answer = shown_outcome(step, symbols)
            if step.is_setup:
                continue
            answers = grouped.setdefault((step.name, seen[step.name]), {})
            answers.setdefault(answer, []).append(play.version)
        if play.stopped:
            grouped.setdefault(("STOPPED", 0), {}).setdefault(play.stopped, []).append(play.version)
    for (name, _), answers in grouped.items():
        if len(answers) == 1:
            [(answer, versions)] = answers.items()
            yield f"  {name} ({shown_versions(versions)}): {answer}"
            continue
        yield f"  {name}:"
        for answer, versions in answers.items():
            yield f"    {shown_versions(versions)}: {answer}"


def shown_outcome(step: Step, symbols: Symbols) -> str:
    if step.response is None:
        return f"({step.ending or 'no response was read'})"
    return shown(normalised(step.response, symbols))


def shown_request(step: Step) -> str:
    return f"{api_name(step.api_key)} v{step.version} {shown(step.request)}"


def shown(value: Any) -> str:
    """Compact, without what is null or empty."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{k}={shown(v)}" for k, v in value.items() if not _is_quiet(v))
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, bytes | bytearray | memoryview) and len(value) > 16:
        return f"<{len(value)} bytes>"
    if isinstance(value, bytes | bytearray | memoryview):
        return repr(bytes(value))
    if isinstance(value, str):
        return value if len(value) <= 300 else f"<{len(value)} characters>"
    return str(value)


def _is_quiet(value: Any) -> bool:
    return any(value is each or (type(value) is type(each) and value == each) for each in _QUIET)


def shown_versions(versions: list[int]) -> str:
    """`v0-3, v5`."""
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and runs[-1][-1] == version - 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(f"v{run[0]}" if len(run) == 1 else f"v{run[0]}-{run[-1]}" for run in runs)
