"""Watches which forms of every field were compared, so that none is missed unnoticed."""

from __future__ import annotations

from typing import Any

from broker.protocol.compile_classes import is_fresh_by_default
from broker.protocol.schema import Field, Struct


class FieldCoverage:
    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], set[str]] = {}

    def watch(self, struct: Struct, version: int, value: Any, path: str = "") -> None:
        for field in struct.fields:
            if version in field.versions:
                where = f"{path}.{field.name}"
                found = getattr(value, field.name)
                self._seen.setdefault((version, where), set()).update(_forms(field, found))
                if field.struct is not None and found is not None:
                    for item in found if field.is_array else [found]:
                        self.watch(field.struct, version, item, where)

    def missed(self, struct: Struct, version: int, path: str = "") -> list[str]:
        """What never occurred in this version, in words."""
        missed = []
        for field in struct.fields:
            if version in field.versions:
                where = f"{path}.{field.name}"
                seen = self._seen.get((version, where), set())
                missed += [
                    f"{struct.name} v{version} {where} was never {form}"
                    for form in sorted(_wanted(field, version) - seen)
                ]
                if field.struct is not None:
                    missed += self.missed(field.struct, version, where)
        return missed


def _wanted(field: Field, version: int) -> set[str]:
    wanted = {"other than its default"}
    if version in field.null:
        wanted |= {"null", "not null"}
    if field.is_array:
        wanted |= {"empty", "not empty"}
    if field.tag is not None:
        wanted |= {"its default"}
    return wanted


def _forms(field: Field, value: Any) -> set[str]:
    forms = {"null" if value is None else "not null"}
    if field.is_array and value is not None:
        forms.add("not empty" if value else "empty")
    if is_fresh_by_default(field) and not field.is_array:
        # A struct that is always there: its own fields say whether it was anything else.
        return forms | {"other than its default"}
    default: Any = [] if field.is_array else field.default
    if field.defaults_to_none:
        default = None
    forms.add("its default" if value == default else "other than its default")
    return forms
