"""Messages as plain dictionaries: easy to write in a script, easy to compare field by field."""

from __future__ import annotations

from typing import Any

from broker.protocol import messages
from broker.protocol.batch import CorruptBatchError, iterate_headers, verify_crc
from broker.protocol.records import iterate_records
from broker.protocol.schema import Field, Struct

_RECORDS_BYTES_MAX = 64 << 20


class Plain(dict[str, Any]):
    """A struct of a response. Its fields are read as attributes: `answer.topics[0].name`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this version has no field {name}; it has {list(self)}") from None


def message_of(struct: Struct, values: dict[str, Any]) -> Any:
    """The message with these fields. Fields that are not given have Kafka's defaults.

    A script gives the fields of all versions; the encoder leaves out those of other versions.
    """
    known = {field.name: field for field in struct.fields}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"{struct.name} has no field {unknown[0]}; it has {', '.join(known)}")
    built = {name: _built(known[name], value) for name, value in values.items()}
    return getattr(messages, struct.name)(**built)


def _built(field: Field, value: Any) -> Any:
    if field.struct is None or value is None:
        return value
    if field.is_array:
        return [message_of(field.struct, each) for each in value]
    return message_of(field.struct, value)


def plain_of(struct: Struct, version: int, message: Any) -> Plain:
    """The fields that this version has; batches of records are taken apart."""
    return Plain(
        {
            field.name: _plain_value(field, version, getattr(message, field.name))
            for field in struct.fields
            if version in field.versions
        }
    )


def _plain_value(field: Field, version: int, value: Any) -> Any:
    if value is None:
        return None
    if field.is_array:
        if field.struct is None:
            return list(value)
        return [plain_of(field.struct, version, each) for each in value]
    if field.struct is not None:
        return plain_of(field.struct, version, value)
    if field.type == "records":
        return plain_batches(memoryview(value))
    return bytes(value) if field.type in ("bytes", "uuid") else value


def plain_batches(view: memoryview) -> list[Plain]:
    """Every batch with its records. The last one says so if the limit of the fetch cut it off."""
    batches = []
    try:
        for position, header in iterate_headers(view):
            batch = view[position : position + header.size]
            fields = header._asdict()
            # The CRC covers the broker's timestamps; the length depends on the codec's library.
            del fields["length"]
            fields["crc"] = "right" if verify_crc(view, position, header) else "wrong"
            records = iterate_records(batch, header, max_bytes=_RECORDS_BYTES_MAX)
            fields["records"] = [Plain(record._asdict()) for record in records]
            batches.append(Plain(fields))
    except CorruptBatchError as problem:
        batches.append(Plain(cut_off=str(problem).partition(" takes ")[0]))
    return batches
