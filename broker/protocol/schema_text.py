"""Reads the schema text that comes with this package; docs/reference/schema.md says how it looks.

All files are read when the first message is asked for: together they take some milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from broker.protocol.schema import (
    FIXED_TYPES,
    NEVER,
    VARIABLE_TYPES,
    ZERO_UUID,
    Api,
    Field,
    Message,
    Schema,
    Struct,
    Versions,
)

_INDENT = 4


class SchemaError(Exception):
    """The schema text itself is wrong; says the file and the line."""


@cache
def schema() -> Schema:
    """All schema files of this package."""
    directory = resources.files("broker.protocol") / "schemas"
    texts = {
        entry.name: entry.read_text("utf-8")
        for entry in directory.iterdir()
        if entry.name.endswith(".txt")
    }
    return parse({name: texts[name] for name in sorted(texts)})


def parse(texts: Mapping[str, str]) -> Schema:
    """`texts` by file name; the names are only for error messages."""
    apis: dict[int, Api] = {}
    messages: dict[str, Message] = {}
    structs: set[str] = set()
    for file, text in texts.items():
        reader = _Reader(file, text)
        while reader.line is not None:
            for message in reader.read_definition(apis):
                for struct in message.structs():
                    if struct.name in structs:
                        raise SchemaError(f"{file}: {struct.name} is defined twice")
                    structs.add(struct.name)
                messages[message.name] = message
    return Schema(apis, messages)


class _Line:
    __slots__ = ("depth", "number", "words")

    def __init__(self, number: int, depth: int, words: list[str]) -> None:
        self.number = number
        self.depth = depth
        self.words = words


class _Reader:
    """Walks over one file's lines; `line` is the next one that nobody has taken yet."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines: list[_Line] = []
        for number, raw in enumerate(text.splitlines(), start=1):
            words = raw.split("#", 1)[0].split()
            if words:
                indent = len(raw) - len(raw.lstrip(" "))
                self._lines.append(_Line(number, indent // _INDENT, words))
        self._next = 0

    @property
    def line(self) -> _Line | None:
        return self._lines[self._next] if self._next < len(self._lines) else None

    def _take(self) -> _Line:
        line = self._lines[self._next]
        self._next += 1
        return line

    def _wrong(self, line: _Line, problem: str) -> SchemaError:
        return SchemaError(f"{self._file}:{line.number}: {problem}: {' '.join(line.words)}")

    def read_definition(self, apis: dict[int, Api]) -> list[Message]:
        """One `api` with its request and response, or one `message`."""
        line = self._take()
        match line.words:
            case ["message", name, *rest]:
                return [self._read_message(line, name, rest)]
            case ["api", key, name, *rest]:
                both = []
                for kind in ("request", "response"):
                    head = self._take() if self.line is not None else line
                    if head.words != [kind]:
                        raise self._wrong(head, f"expected the {kind} of {name}")
                    both.append(self._read_message(line, name + kind.capitalize(), rest))
                apis[int(key)] = Api(int(key), name, *both)
                return both
            case _:
                raise self._wrong(line, "expected api or message")

    def _read_message(self, line: _Line, name: str, rest: list[str]) -> Message:
        match rest:
            case ["versions", known, "flexible", flexible]:
                versions = self._read_versions(line, known, None)
                message = Message(
                    Struct(name), versions, self._read_versions(line, flexible, versions)
                )
            case ["versions", known]:
                message = Message(Struct(name), self._read_versions(line, known, None), NEVER)
            case _:
                raise self._wrong(line, "expected versions, and flexible or nothing after it")
        self._read_fields(message.struct, 1, message.versions, {})
        return message

    def _read_fields(
        self, struct: Struct, depth: int, versions: Versions, known: dict[str, Struct]
    ) -> None:
        while self.line is not None and self.line.depth == depth:
            line = self._take()
            if len(line.words) < 2:
                raise self._wrong(line, "expected the name and the type of a field")
            name, kind, *options = line.words
            is_array = kind.startswith("[]")
            kind = kind.removeprefix("[]")
            inner = None
            if kind not in FIXED_TYPES and kind not in VARIABLE_TYPES:
                inner = self._read_struct(line, kind, versions, known)
            struct.fields.append(self._field(line, name, kind, is_array, options, versions, inner))
        if self.line is not None and self.line.depth > depth:
            raise self._wrong(self.line, "indented too far")

    def _read_struct(
        self, line: _Line, name: str, versions: Versions, known: dict[str, Struct]
    ) -> Struct:
        """A struct is defined where it is first named; later fields only name it."""
        is_defined_here = self.line is not None and self.line.depth == line.depth + 1
        if is_defined_here == (name in known):
            raise self._wrong(line, f"{name} must be defined once, where it is first named")
        if is_defined_here:
            struct = Struct(name)
            self._read_fields(struct, line.depth + 1, versions, known)
            known[name] = struct
        return known[name]

    def _field(
        self,
        line: _Line,
        name: str,
        kind: str,
        is_array: bool,
        options: list[str],
        message_versions: Versions,
        inner: Struct | None,
    ) -> Field:
        words = list(options)
        versions, null, tag, inflexible = message_versions, NEVER, None, False
        default: str | None = None
        if words and words[0][0].isdigit():
            versions = self._read_versions(line, words.pop(0), message_versions)
        while words:
            match words.pop(0):
                case "null" if words and words[0][0].isdigit():
                    null = self._read_versions(line, words.pop(0), versions)
                case "null":
                    null = versions
                case "tag" if words:
                    tag = int(words.pop(0))
                case "default" if words:
                    default = words.pop(0)
                case "inflexible":
                    inflexible = True
                case other:
                    raise self._wrong(line, f"{other!r} is no option of a field")
        if default == "null" and null == NEVER:
            raise self._wrong(line, "defaults to null but is never null")
        if kind == "records" and null != NEVER:
            default = "null"
        value = _default(kind, is_array, default)
        return Field(name, kind, is_array, versions, null, tag, value, inflexible, inner)

    def _read_versions(self, line: _Line, text: str, within: Versions | None) -> Versions:
        """`3`, `3-7`, or `3+` for all from 3 to the last of `within`."""
        first, _, last = text.removesuffix("+").partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise self._wrong(line, f"{text!r} are no versions")
        if not text.endswith("+"):
            return Versions(int(first), int(last or first))
        if within is None:
            raise self._wrong(line, f"{text!r} needs a last version")
        return Versions(int(first), within.last)


def _default(
    kind: str, is_array: bool, text: str | None
) -> int | float | bool | str | bytes | None:
    if text == "null":
        return None
    if is_array:
        return ""
    match kind:
        case "string":
            return text or ""
        case "bytes" | "records":
            return b""
        case "uuid":
            return ZERO_UUID
        case "bool":
            return text == "true"
        case "float64":
            return float(text or 0)
        case _:
            return int(text or 0) if kind in FIXED_TYPES else ""
