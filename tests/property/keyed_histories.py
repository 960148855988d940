"""Histories of several objects at a time, each named by the field `key` of its operations."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

from harness.history.op import Op
from tests.property.linear_histories import is_linearizable, linear_history

KEYS: Final = (None, 1, 2, 1.0, "1", "a", True, [1, "x"], {"b": 1, "a": 2}, 7, 8, 9)
"""Equal only if they are the same in JSON. None: the operations have no such field."""


def keyed_history(dice: Random, model: str, *, bad: float = 0.5, most: int = 6) -> list[Op]:
    """Operations of up to `most` objects, each of which misbehaves with the probability `bad`."""
    objects = [
        _named(dice, _rows(dice, model, bad=dice.random() < bad), key, 100 * number)
        for number, key in enumerate(dice.sample(KEYS, dice.randint(1, most)))
    ]
    rows: list[Op] = []
    while objects:
        row = dice.choice(objects).pop(0)
        rows.append(replace(row, index=len(rows), time_ns=len(rows)))
        objects = [each for each in objects if each]
    return rows


def object_of(rows: list[Op]) -> dict[int, Any]:
    """By process, the `key` of its only operation; the end comes last."""
    return {row.process: row.extra["key"] for row in rows if row.extra and "key" in row.extra}


def _rows(dice: Random, model: str, *, bad: bool) -> list[Op]:
    """Most of the histories drawn are not linearizable."""
    while True:
        rows = linear_history(dice, model, unique=dice.random() < 0.5)
        if bad or is_linearizable(rows, model):
            return rows


def _named(dice: Random, rows: list[Op], key: Any, first_process: int) -> list[Op]:
    """Either half of an operation may name the object, or both. The end is right if the halves
    differ. Some operations of unknown outcome do not end at all."""
    named: list[Op] = []
    speakers: dict[int, str] = {}
    for row in rows:
        if row.type == "info" and dice.random() < 0.3:
            continue
        speaker = speakers.setdefault(row.process, dice.choice(("invoke", "end", "both")))
        is_silent = speaker != "both" and (speaker == "invoke") != (row.type == "invoke")
        extra: dict[str, Any] = {"note": row.index} if dice.random() < 0.3 else {}
        if key is not None and not is_silent:
            is_wrong = speaker == "both" and row.type == "invoke" and dice.random() < 0.2
            extra["key"] = dice.choice(KEYS[1:]) if is_wrong else key
        named.append(replace(row, process=row.process + first_process, extra=extra or None))
    return named
