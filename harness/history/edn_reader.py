"""EDN as Jepsen writes it: one operation to a line, or all in one vector; read form by form.

Keywords and symbols become texts, sets become lists, tags are dropped and what they tag is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.history.collected import Collected
from harness.history.errors import HistoryError
from harness.history.json_text import DEPTH_MAX, encode
from harness.history.jsonl import SetAside, Unexpected, op_of
from harness.history.op import Op
from harness.history.tables import Tables

_TOKEN = re.compile(
    r"""[\s,]+ | ;.* |
    (?P<open>[\[({]|\#\{|\#:[^\s{]+[\s,]*\{) | (?P<close>[\])}]) |
    (?P<discard>\#_) |
    (?P<text>"(?:[^"\\]|\\.)*") |
    (?P<torn>"(?:[^"\\]|\\.)*\\?$) |
    (?P<character>\\(?:newline|return|space|tab|formfeed|backspace|u[0-9a-fA-F]{4}|.)
      (?![^\s,;"\[\](){}])) |
    (?P<number>[+-]?\d+N?(?![^\s,;"\[\](){}])) |
    (?P<real>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?(?![^\s,;"\[\](){}])) |
    (?P<tag>\#(?![\#_{:])[^\s,;"\[\](){}]*) |
    (?P<word>(?![\^'`@~])(?:\#\#)?[^\s,;"\[\](){}\#\\]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSES = {"[": "]", "(": ")", "{": "}", "#": "}"}
_WORDS: dict[str, Any] = {
    "nil": None,
    "true": True,
    "false": False,
    "##Inf": float("inf"),
    "##-Inf": float("-inf"),
    "##NaN": float("nan"),
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
_CHARACTERS = {
    "newline": "\n",
    "return": "\r",
    "space": " ",
    "tab": "\t",
    "formfeed": "\f",
    "backspace": "\b",
}


class Forms:
    """Takes lines, gives back whole forms as they end; of one outer vector, its items."""

    def __init__(self) -> None:
        self._frames = [_Frame("", 0)]
        self._torn = ""
        self.line = 0

    def feed(self, line: str) -> Iterator[Any]:
        self.line += 1
        text, self._torn = self._torn + line, ""
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise Unexpected(f"expected EDN, found {encode(text[at : at + 20].strip())}")
            if match.lastgroup == "torn":
                # A text may go on in the next line.
                self._torn = text[at:]
                return
            at = match.end()
            if match.lastgroup is not None:
                yield from self._take(match.lastgroup, match.group())

    def end(self) -> None:
        if self._torn:
            raise Unexpected("expected the end of a text, found the end of the file")
        frame = self._frames[-1]
        frame.refuse_waiting()
        if len(self._frames) > 1:
            closes = _CLOSES[frame.opened[0]]
            raise Unexpected(f"expected {closes} for line {frame.line}, found the end of the file")

    @property
    def open_since(self) -> int | None:
        """The line in which a form begins that is not closed; None if there is none."""
        inner = self._frames[self._outer :]
        return inner[0].line if inner else self.line if self._torn else None

    @property
    def _outer(self) -> int:
        """How many frames are around operations: a file may have one vector around all of them."""
        return 2 if len(self._frames) > 1 and self._frames[1].is_sequence else 1

    def give_up(self) -> None:
        """Forms that are not closed end here, but for a vector around all of them."""
        del self._frames[self._outer :]
        self._torn = ""
        for frame in self._frames:
            frame.tag, frame.skips = "", 0

    def _take(self, kind: str, token: str) -> Iterator[Any]:
        frame = self._frames[-1]
        if kind == "open":
            if len(self._frames) > DEPTH_MAX:
                raise Unexpected("expected EDN, found lists within lists without end")
            self._frames.append(_Frame(token, self.line))
        elif kind == "close":
            if not frame.opened or _CLOSES[frame.opened[0]] != token:
                raise Unexpected(f"expected no {token} here")
            frame.refuse_waiting()
            self._frames.pop()
            if not (len(self._frames) == 1 and frame.is_sequence):
                yield from self._push(frame.collected())
        elif kind == "discard":
            frame.skips += 1
        elif kind == "tag":
            frame.tag = token
        else:
            yield from self._push(_atom(kind, token))

    def _push(self, value: Any) -> Iterator[Any]:
        frame = self._frames[-1]
        frame.tag = ""
        if frame.skips:
            frame.skips -= 1
        elif len(self._frames) == 1 or (len(self._frames) == 2 and frame.is_sequence):
            yield value
        else:
            frame.items.append(value)


class _Frame:
    """A collection that is not closed yet; the outermost is the file."""

    def __init__(self, opened: str, line: int) -> None:
        self.opened = opened
        self.line = line
        self.items: list[Any] = []
        self.skips = 0
        self.tag = ""

    def refuse_waiting(self) -> None:
        """What says something of the next form, where there is none."""
        waiting = self.tag or ("#_" if self.skips else "")
        if waiting:
            raise Unexpected(f"expected a form after {waiting}, found none")

    @property
    def is_sequence(self) -> bool:
        return self.opened in ("[", "(")

    def collected(self) -> Any:
        if not self.opened.endswith("{") or self.opened == "#{":
            return self.items
        if len(self.items) % 2:
            raise Unexpected(f"expected a value for each key of the map of line {self.line}")
        keys, values = self.items[::2], self.items[1::2]
        if not all(isinstance(key, str | int | float | None) for key in keys):
            keys = [key if isinstance(key, str | int) else encode(key) for key in keys]
        collected = dict(zip(keys, values, strict=True))
        if len(collected) < len(keys):
            twice = next(key for at, key in enumerate(keys) if key in keys[:at])
            raise Unexpected(f"expected each key of a map once, found {encode(twice)[:60]} twice")
        return collected


def _atom(kind: str, token: str) -> Any:
    if kind == "text":
        return _ESCAPE.sub(_unescaped, token[1:-1]) if "\\" in token else token[1:-1]
    if kind == "number":
        try:
            return int(token.rstrip("N"))
        except ValueError:
            raise Unexpected(f"expected a number, found one of {len(token)} digits") from None
    if kind == "real":
        return float(token.rstrip("M"))
    if kind == "character":
        name = token[1:]
        return (
            chr(int(name[1:], 16))
            if len(name) == 5 and name[0] == "u"
            else _CHARACTERS.get(name, name)
        )
    return token[1:] if token[0] == ":" else _WORDS.get(token, token)


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code.isdigit():
        return chr(int(code, 8))
    if code not in _ESCAPES:
        raise Unexpected(f"expected an escape that EDN knows, found {match.group()}")
    return _ESCAPES[code]


def read_edn(path: Path, set_aside: SetAside | None = None) -> Tables:
    """With `set_aside`, forms that are no operation go there and the rest is read."""
    collected = Collected()
    errors = "strict" if set_aside is None else "backslashreplace"
    try:
        with path.open(encoding="utf-8-sig", errors=errors) as file:
            for op in _ops(file, path, set_aside):
                collected.add(op)
    except OSError as error:
        raise HistoryError(f"it cannot be read ({error.strerror})", str(path)) from error
    except UnicodeDecodeError as error:
        raise HistoryError("expected UTF-8, found other bytes", str(path)) from error
    return collected.tables(str(path))


def _ops(lines: Iterable[str], path: Path, set_aside: SetAside | None) -> Iterator[Op]:
    def refuse(error: Unexpected, text: str) -> None:
        if set_aside is None:
            raise HistoryError(str(error), f"{path}, line {forms.line}") from None
        set_aside(forms.open_since or forms.line, str(error), text)
        forms.give_up()

    index, time_ns = -1, 0
    forms = Forms()
    for line in lines:
        if set_aside is not None and line.startswith("{") and forms.open_since is not None:
            # Each operation begins a line, so the one before was cut.
            refuse(Unexpected("expected the end of an operation, found the next one"), "")
        try:
            for form in forms.feed(line):
                try:
                    op = op_of(_fields(form), index, time_ns)
                except Unexpected as error:
                    refuse(error, line.strip())
                    continue
                index, time_ns = op.index, op.time_ns
                yield op
        except Unexpected as error:
            refuse(error, line.strip())
    try:
        forms.end()
    except Unexpected as error:
        refuse(error, "")


def _fields(form: Any) -> dict[str, Any]:
    if not isinstance(form, dict):
        raise Unexpected(
            "expected an operation, {:index 0, :process 0, :type :invoke, ...}, "
            f"found {encode(form)[:60]}"
        )
    return {str(name): value for name, value in form.items()}
