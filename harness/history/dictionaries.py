"""Ids for keys and for values that are no int64, given as they come."""

from __future__ import annotations

from typing import Any

from harness.history.json_text import canonical_text, encode
from harness.history.op import Key

REMEMBERED_VALUES_MAX = 65_536


class Keys:
    """There are few of them, so all are remembered."""

    def __init__(self) -> None:
        self._ids: dict[Any, int] = {}
        self._fresh: list[str] = []

    def __len__(self) -> int:
        return len(self._ids)

    def id_of(self, key: Key, kind: int) -> int:
        """`kind` is the kind of the element that it is the key of."""
        found = self._ids.get(key)
        return found if found is not None else self._add(key, encode(key))

    def _add(self, key: Any, text: str) -> int:
        found = self._ids[key] = len(self._ids)
        self._fresh.append(text)
        return found

    def take(self) -> list[str]:
        """Those that came since it was last asked."""
        fresh, self._fresh = self._fresh, []
        return fresh


class Values:
    """Of them there is no end, so only some are remembered: a text may be given two ids.

    Whoever loads the history makes them one again.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._count = 0
        self._fresh: list[str] = []

    def __len__(self) -> int:
        return self._count

    def id_of(self, value: Any) -> int:
        text = canonical_text(value)
        found = self._ids.get(text)
        if found is None:
            if len(self._ids) == REMEMBERED_VALUES_MAX:
                self._ids.clear()
            found = self._ids[text] = self._count
            self._count += 1
            self._fresh.append(text)
        return found

    def take(self) -> list[str]:
        fresh, self._fresh = self._fresh, []
        return fresh
