"""Reads the text of a .properties file by Java's rules, and remembers the line of each entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"


class Entry(NamedTuple):
    value: str
    line: int
    earlier_line: int | None = None  # where the same name stood before


class PropertiesSyntaxError(ValueError):
    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line
        self.what = what


def parse_properties(text: str) -> dict[str, Entry]:
    """A name that comes twice keeps its last value, as in Java."""
    entries: dict[str, Entry] = {}
    for line, logical in _logical_lines(text):
        raw_name, value = _split(logical)
        name = _unescape(raw_name, line)
        earlier = entries.get(name)
        entries[name] = Entry(_unescape(value, line), line, earlier.line if earlier else None)
    return entries


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Joins lines that end in an odd number of backslashes; drops comments and empty lines."""
    pending = ""
    first = 0
    for number, raw in enumerate(_natural_lines(text), start=1):
        line = raw.lstrip(_BLANKS)
        if not pending:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield first, pending + line
        pending = ""
    if pending:
        yield first, pending


def _natural_lines(text: str) -> list[str]:
    # Not splitlines(): that also splits at characters which Java takes as part of a value.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _split(line: str) -> tuple[str, str]:
    """At the first unescaped = or : or blank; blanks around the separator belong to nobody."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return line[:end], rest


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\" or position == len(text):
            out.append(character if character != "\\" else "")
            continue
        escaped = text[position]
        position += 1
        if escaped == "u":
            digits = text[position : position + 4]
            if len(digits) != 4 or any(d not in "0123456789abcdefABCDEF" for d in digits):
                raise PropertiesSyntaxError(line, f"\\u{digits} is not four hexadecimal digits")
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    return "".join(out)
