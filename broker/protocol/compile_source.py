"""Python source in the making: lines, indentation, fresh names and packed structs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from struct import Struct
from typing import Any

FEW = 16
"""Arrays with fewer elements than this have a struct ready; most arrays of replicas do."""


class Source:
    """Grows line by line; `namespace` has what the source refers to by name."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._lines: list[str] = []
        self._indent = ""
        self._name_count = 0

    def add(self, line: str) -> None:
        self._lines.append(self._indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.add(head)
        outer = self._indent
        self._indent += " "
        try:
            yield
        finally:
            self._indent = outer

    def fresh(self, stem: str) -> str:
        self._name_count += 1
        return f"{stem}{self._name_count}"

    def struct(self, letters: str, method: str) -> tuple[str, int]:
        """The name of a method of the big-endian `struct` with these letters, and its size."""
        packed = Struct(">" + letters)
        name = f"{method}_{letters.replace('?', 'bool')}"
        self.namespace[name] = getattr(packed, method)
        return name, packed.size

    def few(self, letter: str, method: str) -> str:
        """The name of a tuple with such a method for every array of fewer than `FEW` elements."""
        name = f"few_{method}_{letter.replace('?', 'bool')}"
        self.namespace[name] = _few(letter, method)
        return name

    def function(self, name: str) -> Any:
        exec(self.text(), self.namespace)  # noqa: S102
        return self.namespace[name]

    def text(self) -> str:
        return "\n".join(self._lines)


@cache
def _few(letter: str, method: str) -> tuple[Any, ...]:
    return tuple(getattr(Struct(f">{count}{letter}"), method) for count in range(FEW))
