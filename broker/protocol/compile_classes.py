"""Makes one slots class per message and per struct: keyword arguments with Kafka's defaults.

The classes are built from source, so that creating one costs no more than one written by hand.
"""

from __future__ import annotations

from typing import Any

from broker.protocol.schema import Field, Struct

MODULE = "broker.protocol.messages"
_UNSET: Any = object()


def build_class(struct: Struct, known: dict[str, type[Any]]) -> type[Any]:
    """`known` has the classes of the structs inside this one."""
    namespace: dict[str, Any] = {"UNSET": _UNSET, "describe": _describe}
    for field in struct.fields:
        if field.struct is not None:
            namespace[field.type] = known[field.type]
    exec(class_source(struct), namespace)  # noqa: S102
    built: type[Any] = namespace[struct.name]
    built.__module__ = MODULE
    return built


def class_source(struct: Struct) -> str:
    slots = "".join(f"{field.name!r}, " for field in struct.fields)
    lines = [
        f"class {struct.name}:",
        f"    __slots__ = ({slots})",
        "    __hash__ = None",
        "    __repr__ = describe",
        "    def __eq__(self, other):",
        f"        if type(other) is not {struct.name}: return NotImplemented",
        f"        return {_all_equal(struct)}",
    ]
    if struct.fields:
        arguments = "".join(f", {f.name}={_argument_default(f)}" for f in struct.fields)
        lines.append(f"    def __init__(self, *{arguments}):")
        lines += [f"        self.{field.name} = {_assigned(field)}" for field in struct.fields]
    return "\n".join(lines)


def default_source(field: Field) -> str:
    """An expression for the field's default; a fresh object where that can be changed."""
    if field.defaults_to_none:
        return "None"
    if field.is_array:
        return "[]"
    return f"{field.type}()" if field.struct is not None else repr(field.default)


def is_fresh_by_default(field: Field) -> bool:
    return not field.defaults_to_none and (field.is_array or field.struct is not None)


def _argument_default(field: Field) -> str:
    return "UNSET" if is_fresh_by_default(field) else default_source(field)


def _assigned(field: Field) -> str:
    if is_fresh_by_default(field):
        return f"{default_source(field)} if {field.name} is UNSET else {field.name}"
    return field.name


def _all_equal(struct: Struct) -> str:
    pairs = (f"self.{field.name} == other.{field.name}" for field in struct.fields)
    return " and ".join(pairs) or "True"


def _describe(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__name__}({values})"
