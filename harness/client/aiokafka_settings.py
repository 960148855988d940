"""How aiokafka is configured here, and what its errors are called."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from aiokafka.errors import BrokerResponseError, KafkaError

from harness.client.driver import DriverError
from harness.client.error_names import error_name


def driver_error(error: KafkaError, *, harmless: bool = False) -> DriverError:
    name = type(error).__name__
    message = str(error).removeprefix(f"{name}: ")
    if isinstance(error, BrokerResponseError):
        name = error_name(error.errno, name)
    return DriverError(name, message, harmless=harmless)


def arguments(of: type[Any], config: Mapping[str, str]) -> dict[str, Any]:
    """Settings by Kafka's names, of the types that the library's own defaults have."""
    defaults = {each.name: each.default for each in signature(of).parameters.values()}
    return {
        name.replace(".", "_"): _argument(name, text, defaults.get(name.replace(".", "_")))
        for name, text in config.items()
    }


def _argument(name: str, text: str, default: Any) -> Any:
    """ValueError with a sentence: the library would fail later, by an operator that it lacks."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{name}={text}: expected true or false")
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        if isinstance(default, int):
            raise ValueError(f"{name}={text}: expected a whole number") from None
        return text
