"""Compiles the decoder of one message in one version: straight-line Python, no interpretation.

Fields of fixed size that follow each other are unpacked by one call, together with the length
prefix after them. A string that reaches beyond the end is not noticed at once: any read after it
fails, and the end is compared once after the last one. So a short message costs an exception,
and a good one nothing.

There are three forms of a decoder. `PLAIN` trusts its peer. `BOUNDED` is given how many elements
all arrays and tagged fields of the message may have together, and refuses the array that would
exceed it before anything of that array is built: an empty name takes two bytes on the wire and
fifty times that as an object. `SLICED` counts in the same way and is a generator, which stops
every `ELEMENTS_PER_STEP` elements, so that a server can do something else in between.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from broker.protocol import primitives
from broker.protocol.compile_classes import default_source
from broker.protocol.compile_source import FEW, Source
from broker.protocol.errors import MalformedMessageError
from broker.protocol.schema import FIXED_TYPES, Field, Message, Struct, Versions

_Built = TypeVar("_Built")

Decoder = Callable[[primitives.Readable, int], tuple[Any, int]]
BoundedDecoder = Callable[[primitives.Readable, int, int], tuple[Any, int]]
"""The third argument is how many elements the message may have. Raises TooManyElementsError."""
SlicedDecoder = Callable[[primitives.Readable, int, int], Generator[None, None, tuple[Any, int]]]
"""Same as `BoundedDecoder`, in steps; the second value is how many elements there are."""

ELEMENTS_PER_STEP = 128
STRING_BYTES_MAX = 0x7FFF
"""Of a string in any version; only those before the flexible ones have no room for more."""


class DecoderForm(Generic[_Built]):
    """A form of decoders, and the type of a decoder in that form."""


PLAIN: DecoderForm[Decoder] = DecoderForm()
BOUNDED: DecoderForm[BoundedDecoder] = DecoderForm()
SLICED: DecoderForm[SlicedDecoder] = DecoderForm()


def build_decoder(
    message: Message, version: int, classes: dict[str, type[Any]], form: DecoderForm[_Built]
) -> _Built:
    decoder: _Built = _DecoderSource(message, version, classes, form).build().function("decode")
    return decoder


def has_records(struct: Struct, version: int) -> bool:
    return any(
        field.type == "records" or (field.struct is not None and has_records(field.struct, version))
        for field in struct.fields
        if version in field.versions
    )


def minimal_size(field: Field, version: int, flexible: bool) -> int:
    """How many bytes one element of the array `field` takes at least."""
    if field.type in FIXED_TYPES:
        return struct.calcsize(">" + FIXED_TYPES[field.type])
    if field.struct is None:
        return 1 if flexible else 2
    size = 1 if flexible else 0
    for inner in field.struct.in_version(version):
        if inner.is_array or inner.type in ("bytes", "records"):
            size += 1 if flexible else 4
        elif inner.struct is not None and version in inner.null:
            size += 1
        else:
            size += minimal_size(inner, version, flexible)
    return size


class _DecoderSource:
    def __init__(
        self,
        message: Message,
        version: int,
        classes: dict[str, type[Any]],
        form: DecoderForm[Any],
    ) -> None:
        self._message = message
        self._version = version
        self._form = form
        self._is_flexible = version in message.flexible
        # Without records the message is small, and bytes are cheaper to read than a memoryview.
        self._keeps_view = has_records(message.struct, version)
        self._out = Source(
            {
                **{found.name: classes[found.name] for found in message.structs()},
                "new": object.__new__,
                "unpack_from": struct.unpack_from,
                "MALFORMED": (IndexError, struct.error, UnicodeDecodeError),
                "MalformedMessageError": MalformedMessageError,
                "read_uvarint": primitives.read_uvarint,
                "skip_tagged_fields": primitives.skip_tagged_fields,
                "check_tag_count": primitives.check_tag_count,
                "refuse": primitives.refuse,
                "too_many": primitives.too_many,
                "NO_RECORDS": memoryview(b""),
            }
        )
        self._run: list[tuple[str, str]] = []

    def build(self) -> Source:
        out = self._out
        name = f"{self._message.name} v{self._version}"
        arguments = "data, at" if self._form is PLAIN else "data, at, left"
        with out.block(f"def decode({arguments}):"):
            if not self._keeps_view:
                out.add("data = bytes(data)")
            out.add("end = len(data)")
            if self._form is SLICED:
                out.add("allowed = left; steps = 0")
            with out.block("try:"):
                self._struct(self._message.struct, "message")
            with out.block("except MALFORMED as problem:"):
                out.add(
                    f"raise MalformedMessageError(f'no {name} at byte {{at}}: {{problem}}')"
                    " from problem"
                )
            with out.block("if at > end:"):
                out.add(f"raise MalformedMessageError('{name} ends before its last field')")
            if self._form is SLICED:
                out.add("return message, allowed - left")
                out.add("yield")  # also a decoder of a message without arrays is a generator
            else:
                out.add("return message, at")
        return out

    def _read(self, letters: str, target: str) -> None:
        """Reads a fixed value into `target` with the next flush."""
        self._run.append((letters, target))

    def _flush(self) -> None:
        run, self._run = self._run, []
        if not run:
            return
        if len(run) == 1 and run[0][0] == "B":
            self._out.add(f"{run[0][1]} = data[at]; at += 1")
            return
        unpack, size = self._out.struct("".join(letters for letters, _ in run), "unpack_from")
        targets = ", ".join(target for _, target in run)
        self._out.add(f"{targets}{',' if len(run) == 1 else ''} = {unpack}(data, at); at += {size}")

    def _struct(self, struct_: Struct, name: str) -> None:
        self._out.add(f"{name} = new({struct_.name})")
        for field in struct_.fields:
            if self._version not in field.versions or field.tag is not None:
                self._out.add(f"{name}.{field.name} = {default_source(field)}")
        for field in struct_.in_version(self._version):
            self._field(field, f"{name}.{field.name}")
        if self._is_flexible:
            self._tagged_fields(struct_.tagged_in_version(self._version), name)
        self._flush()

    def _field(self, field: Field, target: str) -> None:
        if field.is_array:
            self._array(field, target)
        else:
            self._value(field, target, field.null)

    def _value(self, field: Field, target: str, null: Versions) -> None:
        if field.type in FIXED_TYPES:
            self._read(FIXED_TYPES[field.type], target)
        elif field.struct is not None:
            least = 1 if field.is_sent_as_null else 0
            self._inner_struct(field.struct, target, null, least)
        else:
            self._bytes_or_string(field, target, null)

    def _inner_struct(self, struct_: Struct, target: str, null: Versions, least: int) -> None:
        """`least` is the smallest byte that says that the struct is there."""
        name = self._out.fresh("struct")
        if self._version not in null:
            self._struct(struct_, name)
            self._out.add(f"{target} = {name}")
            return
        present = self._out.fresh("present")
        self._read("b", present)
        self._flush()
        with self._out.block(f"if {present} < {least}:"):
            self._out.add(f"{target} = None")
        with self._out.block("else:"):
            self._struct(struct_, name)
            self._out.add(f"{target} = {name}")

    def _length(self, letters: str, *, flexible: bool, string: str = "") -> tuple[str, str, int]:
        """Names of a length as it is written, and as it is meant; and what is written for null.

        `string`: name of the field, if it is a string.
        """
        length = self._out.fresh("length")
        self._read("B" if flexible else letters, length)
        self._flush()
        if not flexible:
            return length, length, -1
        with self._out.block(f"if {length} > 127:"):
            self._out.add(f"{length}, at = read_uvarint(data, at - 1)")
            if string:
                # Kafka refuses them as well: what a string costs is bounded in every version.
                self._out.add(f"if {length} > {STRING_BYTES_MAX + 1}: refuse({string!r}, at)")
        return length, f"{length} - 1", 0

    def _null_or(self, length: str, written_null: int, field: Field, target: str) -> str:
        """Refuses or assigns null; gives the head of the block for a value that is there."""
        if not target:
            self._out.add(f"if {length} <= {written_null}: refuse({field.name!r}, at)")
            return "if True:"
        with self._out.block(f"if {length} <= {written_null}:"):
            if written_null < 0:
                self._out.add(f"if {length} < {written_null}: refuse({field.name!r}, at)")
            self._out.add(f"{target} = None")
        return "else:"

    def _bytes_or_string(self, field: Field, target: str, null: Versions) -> None:
        flexible = self._is_flexible and not field.inflexible
        letters, string = ("h", field.name) if field.type == "string" else ("i", "")
        length, meant, written_null = self._length(letters, flexible=flexible, string=string)
        nullable_target = target if self._version in null else ""
        with self._out.block(self._null_or(length, written_null, field, nullable_target)):
            self._out.add(f"stop = at + {meant}")
            found = "data[at:stop]"
            if field.type == "string":
                found = f"str({found}, 'utf-8')" if self._keeps_view else f"{found}.decode()"
            elif field.type == "bytes" and self._keeps_view:
                found = f"bytes({found})"
            elif field.type == "records" and self._form is SLICED:
                # A memoryview takes 184 bytes, and 100,000 of no bytes would take 18 MB.
                found = f"{found} if stop > at else NO_RECORDS"
            self._out.add(f"{target} = {found}; at = stop")

    def _array(self, field: Field, target: str) -> None:
        length, count, written_null = self._length("i", flexible=self._is_flexible)
        size = minimal_size(field, self._version, self._is_flexible)
        if size == 0:
            raise ValueError(f"elements of {field.name} may be empty: their count is not bounded")
        nullable_target = target if self._version in field.null else ""
        with self._out.block(self._null_or(length, written_null, field, nullable_target)):
            needed = count if size == 1 else f"({count}) * {size}"
            self._out.add(f"if {needed} > end - at: refuse({field.name!r}, at)")
            self._count(field.name, count)
            if field.type == "uuid":
                stop = f"at + {needed}"
                self._out.add(
                    f"{target} = [bytes(data[i : i + 16]) for i in range(at, {stop}, 16)]"
                )
                self._out.add(f"at = {stop}")
            elif field.type in FIXED_TYPES:
                self._fixed_elements(FIXED_TYPES[field.type], target, length, count)
                self._out.add(f"at += {needed}")
            else:
                self._elements(field, target, count)

    def _count(self, what: str, count: str) -> None:
        if self._form is not PLAIN:
            self._out.add(f"left -= {count}" if count.isidentifier() else f"left -= ({count})")
            self._out.add(f"if left < 0: too_many({what!r}, {count})")

    def _fixed_elements(self, letter: str, target: str, length: str, count: str) -> None:
        few = self._out.few(letter, "unpack_from")
        with self._out.block(f"if {length} < {FEW}:"):
            self._out.add(f"{target} = list({few}[{count}](data, at))")
        with self._out.block("else:"):
            self._out.add(f"{target} = list(unpack_from(f'>{{{count}}}{letter}', data, at))")

    def _elements(self, field: Field, target: str, count: str) -> None:
        items, item = self._out.fresh("items"), self._out.fresh("item")
        self._out.add(f"{target} = {items} = []")
        with self._out.block(f"for _ in range({count}):"):
            if self._form is SLICED:
                self._out.add("steps += 1")
                self._out.add(f"if not steps % {ELEMENTS_PER_STEP}: yield")
            if field.struct is not None:
                self._struct(field.struct, item)
            else:
                self._value(field, item, Versions(0, -1))
            self._out.add(f"{items}.append({item})")

    def _tagged_fields(self, fields: list[Field], name: str) -> None:
        """Fields with a tag that nobody knows are skipped: they are from a newer peer."""
        count = self._out.fresh("tags")
        self._read("B", count)
        self._flush()
        if not fields:
            with self._out.block(f"if {count}:"):
                self._out.add(f"at, {count} = skip_tagged_fields(data, at - 1, end)")
                self._count("tagged fields", count)
            return
        with self._out.block(f"if {count}:"):
            self._out.add(f"if {count} > 127: {count}, at = read_uvarint(data, at - 1)")
            self._out.add(f"check_tag_count({count}, at)")
            self._count("tagged fields", count)
            with self._out.block(f"for _ in range({count}):"):
                tag, stop = self._out.fresh("tag"), self._out.fresh("stop")
                for each in (tag, stop):
                    self._out.add(f"{each} = data[at]; at += 1")
                    self._out.add(f"if {each} > 127: {each}, at = read_uvarint(data, at - 1)")
                self._out.add(f"{stop} += at")
                self._out.add(f"if {stop} > end: refuse('tagged field', at)")
                for field in fields:
                    head = "if" if field is fields[0] else "elif"
                    with self._out.block(f"{head} {tag} == {field.tag}:"):
                        self._field(field, f"{name}.{field.name}")
                        self._flush()
                self._out.add(f"else: at = {stop}")
                self._out.add(f"if at != {stop}: refuse('tagged field', at)")
