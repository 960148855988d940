"""Turns the text of a property into a typed value, and a value back into Kafka's text."""

from __future__ import annotations

from decimal import Decimal

from broker.config.property import INT_MAX, LONG_MAX, Kind, Property, Value

_RANGES = {
    Kind.SHORT: (-(2**15), 2**15 - 1),
    Kind.INT: (-INT_MAX - 1, INT_MAX),
    Kind.LONG: (-LONG_MAX - 1, LONG_MAX),
}
_KIND_WORDS = {
    Kind.BOOLEAN: "true or false",
    Kind.SHORT: "a whole number of 16 bits",
    Kind.INT: "a whole number of 32 bits",
    Kind.LONG: "a whole number of 64 bits",
    Kind.DOUBLE: "a number",
}


class WrongValueError(ValueError):
    """The message says what is wrong with the value and what is allowed, without the name."""


def parse_value(known: Property, text: str) -> Value:
    text = text.strip()
    value = _parse_kind(known.kind, text)
    if not known.check.allows(value):
        raise WrongValueError(f"{shown(known, text)} is not allowed: {known.check}")
    return value


def shown(known: Property, text: str) -> str:
    """The text as an error message may repeat it: a secret never is."""
    return "the hidden value" if known.sensitive else repr(text)


def value_text(value: Value) -> str | None:
    """As Kafka writes it in DescribeConfigs."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _java_text(value)
    return str(value)


def _java_text(number: float) -> str:
    """As Java writes a double: in scientific form below 0.001 and from 10,000,000."""
    if number == 0 or 1e-3 <= abs(number) < 1e7 or number in (float("inf"), -float("inf")):
        return repr(number)
    mantissa, _, exponent = f"{Decimal(repr(number)).normalize():E}".partition("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _parse_kind(kind: Kind, text: str) -> Value:
    match kind:
        case Kind.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise WrongValueError(f"{text!r} is not {_KIND_WORDS[kind]}")
            return text.lower() == "true"
        case Kind.SHORT | Kind.INT | Kind.LONG:
            return _parse_whole(kind, text)
        case Kind.DOUBLE:
            try:
                number = float(text)
            except ValueError:
                raise WrongValueError(f"{text!r} is not {_KIND_WORDS[kind]}") from None
            if number != number:
                raise WrongValueError(f"{text!r} is not {_KIND_WORDS[kind]}")
            return number
        case Kind.LIST:
            return tuple(entry.strip() for entry in text.split(",")) if text else ()
        case Kind.STRING | Kind.CLASS | Kind.PASSWORD:
            return text


def _parse_whole(kind: Kind, text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    # int() alone would also take "1_000" and digits of other scripts, which Kafka refuses.
    if not (digits.isascii() and digits.isdigit()):
        raise WrongValueError(f"{text!r} is not {_KIND_WORDS[kind]}")
    low, high = _RANGES[kind]
    # A number of very many digits is out of range before it is worth converting.
    if len(digits) > 40 or not low <= int(text) <= high:
        raise WrongValueError(f"{text!r} does not fit: {_KIND_WORDS[kind]} is expected")
    return int(text)
