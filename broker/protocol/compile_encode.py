"""Compiles the encoder of one message in one version: straight-line Python, no interpretation.

Small pieces are gathered in `parts` and joined once. Records stay what they are: a chunk of
their own in the list that comes out, so a slice of a file is never read here.

The sliced form of an encoder is a generator. It stops every `ELEMENTS_PER_STEP` elements, and
joins what it has by then, so that the small pieces of a large answer are not all kept at once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from broker.protocol import primitives
from broker.protocol.compile_decode import ELEMENTS_PER_STEP, has_records
from broker.protocol.compile_source import FEW, Source
from broker.protocol.schema import FIXED_TYPES, Field, Message, Struct

_Built = TypeVar("_Built")

Encoder = Callable[[Any], list[Any]]
SlicedEncoder = Callable[[Any], Generator[None, None, list[Any]]]

_COPIED_RECORDS_SIZE = 1024
"""Records in memory up to this size are cheaper to copy than to send as a chunk of their own."""


class EncoderForm(Generic[_Built]):
    """A form of encoders, and the type of an encoder in that form."""


PLAIN: EncoderForm[Encoder] = EncoderForm()
SLICED: EncoderForm[SlicedEncoder] = EncoderForm()


def build_encoder(
    message: Message, version: int, classes: dict[str, type[Any]], form: EncoderForm[_Built]
) -> _Built:
    source = _EncoderSource(message, version, classes, in_slices=form is SLICED)
    encoder: _Built = source.build().function("encode")
    return encoder


class _EncoderSource:
    def __init__(
        self, message: Message, version: int, classes: dict[str, type[Any]], *, in_slices: bool
    ) -> None:
        self._message = message
        self._version = version
        self._classes = classes
        self._is_flexible = version in message.flexible
        self._in_slices = in_slices
        self._has_chunks = in_slices or has_records(message.struct, version)
        self._is_in_tag = False
        self._out = Source(
            {
                "pack": struct.pack,
                "join": b"".join,
                "SHORT": primitives.SHORT_UVARINTS,
                "uvarint": primitives.uvarint,
                "IN_MEMORY": (bytes, bytearray, memoryview),
            }
        )
        self._run: list[tuple[str, str]] = []

    def build(self) -> Source:
        with self._out.block("def encode(message):"):
            self._out.add("parts = []")
            if self._has_chunks:
                self._out.add("chunks = []")
            if self._in_slices:
                self._out.add("steps = 0")
            self._struct(self._message.struct, "message")
            self._flush()
            if self._has_chunks:
                self._out.add("if parts: chunks.append(join(parts))")
                self._out.add("return chunks")
                if self._in_slices:
                    self._out.add("yield")  # also without arrays it is a generator
            else:
                self._out.add("return [join(parts)]")
        return self._out

    def _write(self, letters: str, value: str) -> None:
        """Writes a fixed value with the next flush; `x` is a zero byte and has no value."""
        self._run.append((letters, value))

    def _packed_run(self, *more: tuple[str, str]) -> str:
        """An expression for the run so far, which stays as it is."""
        run = [*self._run, *more]
        if run == [("x", "")]:
            return "b'\\0'"
        if run == [("16s", run[0][1])]:
            return run[0][1]
        pack, _ = self._out.struct("".join(letters for letters, _ in run), "pack")
        return f"{pack}({', '.join(value for _, value in run if value)})"

    def _flush(self) -> None:
        if self._run:
            self._out.add(f"parts.append({self._packed_run()})")
            self._run = []

    def _struct(self, struct_: Struct, name: str) -> None:
        for field in struct_.in_version(self._version):
            self._field(field, f"{name}.{field.name}")
        if self._is_flexible:
            self._tagged_fields(struct_.tagged_in_version(self._version), name)

    def _field(self, field: Field, value: str) -> None:
        if field.is_array:
            self._array(field, value)
        else:
            self._value(field, value, can_be_null=self._version in field.null)

    def _value(self, field: Field, value: str, *, can_be_null: bool) -> None:
        if field.type in FIXED_TYPES:
            self._write(FIXED_TYPES[field.type], value)
        elif field.struct is not None:
            self._inner_struct(field.struct, value, can_be_null, _null_struct(field))
        elif field.type == "string":
            self._string(field, value, can_be_null)
        else:
            self._bytes(field, value, can_be_null)

    def _inner_struct(self, struct_: Struct, value: str, can_be_null: bool, null: bytes) -> None:
        name = self._out.fresh("struct")
        self._out.add(f"{name} = {value}")
        if not can_be_null:
            self._struct(struct_, name)
            return
        self._flush()
        with self._out.block(f"if {name} is None:"):
            self._out.add(f"parts.append({null!r})")
        with self._out.block("else:"):
            self._write("b", "1")
            self._struct(struct_, name)
            self._flush()

    def _length(self, letters: str, length: str, *, flexible: bool) -> None:
        """Flushes the run with the prefix after it; `length` is one more than that if flexible."""
        if not flexible:
            self._write(letters, length)
            self._flush()
            return
        if not self._run:
            self._out.add(f"parts.append(SHORT[{length}] if {length} < 128 else uvarint({length}))")
            return
        self._out.add(f"if {length} < 128: parts.append({self._packed_run(('B', length))})")
        self._out.add(f"else: parts.append({self._packed_run()} + uvarint({length}))")
        self._run = []

    def _string(self, field: Field, value: str, can_be_null: bool) -> None:
        flexible = self._is_flexible and not field.inflexible
        text, length = self._out.fresh("text"), self._out.fresh("length")
        one_more = " + 1" if flexible else ""
        if can_be_null:
            self._out.add(f"{text} = {value}")
            with self._out.block(f"if {text} is None:"):
                self._out.add(f"{text} = b''; {length} = {0 if flexible else -1}")
            with self._out.block("else:"):
                self._out.add(f"{text} = {text}.encode(); {length} = len({text}){one_more}")
        else:
            self._out.add(f"{text} = {value}.encode(); {length} = len({text}){one_more}")
        self._length("h", length, flexible=flexible)
        self._out.add(f"parts.append({text})")

    def _measured(self, value: str, can_be_null: bool) -> tuple[str, str]:
        """Names of variables with the value and with the length to write for it."""
        name, length = self._out.fresh("value"), self._out.fresh("length")
        self._out.add(f"{name} = {value}")
        counted = f"len({name}){' + 1' if self._is_flexible else ''}"
        if can_be_null:
            counted = f"{0 if self._is_flexible else -1} if {name} is None else {counted}"
        self._out.add(f"{length} = {counted}")
        return name, length

    def _bytes(self, field: Field, value: str, can_be_null: bool) -> None:
        name, length = self._measured(value, can_be_null)
        self._length("i", length, flexible=self._is_flexible)
        if field.type == "bytes":
            self._out.add(f"if {name}: parts.append({name})")
            return
        # Asking for the length, not for truth: a chunk needs to have nothing but a length.
        with self._out.block(f"if {length} > {1 if self._is_flexible else 0}:"):
            with self._out.block(
                f"if {length} <= {_COPIED_RECORDS_SIZE} and isinstance({name}, IN_MEMORY):"
            ):
                self._out.add(f"parts.append({name})")
            with self._out.block("else:"):
                self._out.add(f"chunks.append(join(parts)); chunks.append({name}); parts = []")

    def _array(self, field: Field, value: str) -> None:
        can_be_null = self._version in field.null
        name, length = self._measured(value, can_be_null)
        self._length("i", length, flexible=self._is_flexible)
        if field.type == "uuid":
            self._out.add(f"if {name}: parts += {name}")
        elif field.type in FIXED_TYPES:
            self._fixed_elements(FIXED_TYPES[field.type], name)
        else:
            item = self._out.fresh("item")
            with self._out.block(f"for {item} in {name}{' or ()' if can_be_null else ''}:"):
                if field.struct is not None:
                    self._struct(field.struct, item)
                else:
                    self._value(field, item, can_be_null=False)
                self._flush()
                self._stop()

    def _stop(self) -> None:
        """After an element. What stands in a tagged field is joined by itself, with its length."""
        if not self._in_slices:
            return
        self._out.add("steps += 1")
        with self._out.block(f"if not steps % {ELEMENTS_PER_STEP}:"):
            if not self._is_in_tag:
                self._out.add("chunks.append(join(parts)); parts.clear()")
            self._out.add("yield")

    def _fixed_elements(self, letter: str, name: str) -> None:
        with self._out.block(f"if {name}:"):
            few = self._out.few(letter, "pack")
            self._out.add(f"count = len({name})")
            self._out.add(f"if count < {FEW}: parts.append({few}[count](*{name}))")
            self._out.add(f"else: parts.append(pack(f'>{{count}}{letter}', *{name}))")

    def _tagged_fields(self, fields: list[Field], name: str) -> None:
        """Only those that differ from their default are written, by rising tag."""
        if not fields:
            self._write("x", "")
            return
        names = [self._out.fresh("is_default") for _ in fields]
        for is_default, field in zip(names, fields, strict=True):
            self._out.add(f"{is_default} = {self._is_default(field, f'{name}.{field.name}')}")
        with self._out.block(f"if {' and '.join(names)}:"):
            self._out.add(f"parts.append({self._packed_run(('x', ''))})")
        with self._out.block("else:"):
            self._flush()
            outer, tagged = self._out.fresh("outer"), self._out.fresh("tagged")
            self._out.add(f"{outer} = parts; {tagged} = []")
            for is_default, field in zip(names, fields, strict=True):
                assert field.tag is not None
                tag = primitives.uvarint(field.tag)
                with self._out.block(f"if not {is_default}:"):
                    self._out.add("parts = []")
                    was_in_tag, self._is_in_tag = self._is_in_tag, True
                    self._field(field, f"{name}.{field.name}")
                    self._flush()
                    self._is_in_tag = was_in_tag
                    self._out.add("body = join(parts)")
                    self._out.add(f"{tagged}.append({tag!r} + uvarint(len(body)) + body)")
            self._out.add(f"parts = {outer}; parts.append(uvarint(len({tagged})))")
            self._out.add(f"parts += {tagged}")
        self._run = []

    def _is_default(self, field: Field, value: str) -> str:
        if field.is_sent_as_null:
            return "False"
        if field.is_optional:
            default = self._out.fresh("DEFAULT")
            self._out.namespace[default] = self._classes[field.type]()
            return f"({value} is None or {value} == {default})"
        if field.defaults_to_none:
            return f"{value} is None"
        if field.is_array:
            return f"not {value}"
        return f"{value} == {field.default!r}"


def _null_struct(field: Field) -> bytes:
    return b"\x00" if field.is_sent_as_null else b"\xff"
