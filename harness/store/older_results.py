"""results.json of schemas 1 and 2, brought to the form of today.

Those files have doubts as sentences. This is the one place that reads kinds out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.doubts import DoubtKind

_BEGINNINGS = (
    ("the run came to no end", DoubtKind.NO_END),
    ("the run was broken off by a finding", DoubtKind.BROKEN_OFF),
    ("what the run itself doubted is not known", DoubtKind.FORGOTTEN),
    ("too few writes went well", DoubtKind.TOO_FEW_WRITES),
    ("not everything could be read back", DoubtKind.NOT_READ_BACK),
    ("last questions without an answer", DoubtKind.UNANSWERED),
    ("not healed", DoubtKind.NOT_HEALED),
    ("after the healing", DoubtKind.NOT_HEALED),
    ("after healing", DoubtKind.OUT_OF_SYNC),
)
_UNDONE = "could not be undone"


def modernized(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **found,
        "doubts": [_doubt(sentence) for sentence in found["doubts"]],
        "consistency": "",
        "not-judged": [],
        "checks": [_check(check) for check in found["checks"]],
    }


def _doubt(sentence: str) -> dict[str, str]:
    kind = DoubtKind.NOT_HEALED if _UNDONE in sentence else DoubtKind.OLDER
    detail = sentence
    for beginning, known in _BEGINNINGS:
        if sentence.startswith(beginning):
            kind, detail = known, sentence.removeprefix(beginning).lstrip(":, ")
            break
    return {"kind": kind.value, "subject": "", "detail": detail}


def _check(check: Mapping[str, Any]) -> dict[str, Any]:
    why = check["stats"].get("why") or check.get("why", "")
    return {
        **check,
        "model": check.get("model", check["checker"]),
        "not": check.get("not", []),
        "anomalies": {
            type_: [
                {**each, "row": "", "promise": _promise(each, type_ in check["allowed"])}
                for each in told
            ]
            for type_, told in check["anomalies"].items()
        },
        "stats": {**check["stats"], "why": why} if why else check["stats"],
    }


def _promise(anomaly: Mapping[str, Any], is_allowed: bool) -> str:
    if is_allowed:
        return "allowed"
    return "never" if anomaly.get("severity", "error") == "error" else "impossible to say"
