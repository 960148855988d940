"""Message faults as JSON, the form in which a schedule file keeps them.

{"name": "late commit", "match": {"api": "EndTxn", "transactional_id": "tx-7", "nth": 3},
 "action": {"kind": "delay", "seconds": 2.5}, "times": 1}
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from broker.protocol.errors import ErrorCode
from harness.wire.match import (
    Action,
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    MessageFaultError,
    ReplaceByError,
)
from harness.wire.message import name_of_api

_NUMBERS = ("partition", "nth")
_BOOLEANS = ("committed",)
_KINDS = ("delay", "drop", "duplicate", "error")


def faults_to_json(faults: Sequence[MessageFault]) -> list[dict[str, Any]]:
    return [fault_to_json(fault) for fault in faults]


def faults_from_json(data: Any) -> list[MessageFault]:
    if not isinstance(data, list):
        raise MessageFaultError("message faults are no list", hint="put them in [ ]")
    found = [_fault(each, f"message fault {number}") for number, each in enumerate(data, 1)]
    for number, fault in enumerate(found, 1):
        if any(fault.name == other.name for other in found[: number - 1]):
            raise MessageFaultError(
                f"the name {fault.name!r} is taken",
                where=f"message fault {number}",
                hint="give each fault its own",
            )
    return found


def fault_to_json(fault: MessageFault) -> dict[str, Any]:
    wanted = {each.name: getattr(fault.matcher, each.name) for each in fields(Matcher)}
    names = [name_of_api(key) for key in fault.matcher.api_keys]
    if names:
        wanted["api"] = names[0] if len(names) == 1 else names
    return {
        "name": fault.name,
        "match": {name: value for name, value in wanted.items() if value is not None},
        "action": _action_to_json(fault.action),
        "times": fault.times,
    }


def fault_from_json(data: Any) -> MessageFault:
    return _fault(data, "message fault")


def _action_to_json(action: Action) -> dict[str, Any]:
    match action:
        case Delay(seconds):
            return {"kind": "delay", "seconds": seconds}
        case Drop():
            return {"kind": "drop"}
        case Duplicate(after_s):
            return {"kind": "duplicate", "after_s": after_s}
        case ReplaceByError(code):
            return {"kind": "error", "code": code.name}


def _fault(data: Any, where: str) -> MessageFault:
    known = _object(data, ("name", "match", "action", "times"), where)
    name = _string(known, "name", where)
    where = f"{where} {name!r}"
    times = known.get("times", 1)
    if times is not None:
        times = _whole_number(times, "times", where)
    matcher = _matcher(known.get("match", {}), where)
    action = _action(known.get("action"), where)
    try:
        return MessageFault(name, matcher, action, times)
    except MessageFaultError as error:
        raise error.at(where) from None


def _matcher(data: Any, where: str) -> Matcher:
    where = f"{where}, match"
    known = _object(data, tuple(each.name for each in fields(Matcher)), where)
    for name, value in known.items():
        if name in _NUMBERS:
            _whole_number(value, name, where)
        elif name in _BOOLEANS:
            if not isinstance(value, bool):
                hint = "it takes true or false"
                raise MessageFaultError(f"{name} is {value!r}", where=where, hint=hint)
        elif name != "api":
            _string(known, name, where)
        elif not _are_apis(value if isinstance(value, list) else [value]):
            raise MessageFaultError(f"api is {value!r}", where=where, hint="try 'Produce'")
    try:
        return Matcher(**known)
    except MessageFaultError as error:
        raise error.at(where) from None


def _are_apis(values: list[Any]) -> bool:
    return all(isinstance(each, str | int) and not isinstance(each, bool) for each in values)


def _action(data: Any, where: str) -> Action:
    where = f"{where}, action"
    if not isinstance(data, Mapping) or data.get("kind") not in _KINDS:
        said = data.get("kind") if isinstance(data, Mapping) else data
        raise MessageFaultError(
            f"no action is called {said!r}", where=where, hint=f"try one of {', '.join(_KINDS)}"
        )
    try:
        match data["kind"]:
            case "delay":
                known = _object(data, ("kind", "seconds"), where)
                return Delay(_number(known, "seconds", where))
            case "drop":
                _object(data, ("kind",), where)
                return Drop()
            case "duplicate":
                known = _object(data, ("kind", "after_s"), where)
                return Duplicate(_number(known, "after_s", where))
            case _:
                known = _object(data, ("kind", "code"), where)
                return ReplaceByError(_error_code(known.get("code"), where))
    except MessageFaultError as error:
        raise error.at(where) from None


def _error_code(value: Any, where: str) -> ErrorCode:
    if isinstance(value, str) and value in ErrorCode.__members__:
        return ErrorCode[value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return ErrorCode(value)
        except ValueError:
            pass
    close = difflib.get_close_matches(str(value).upper(), ErrorCode.__members__, n=1)
    hint = f"did you mean {close[0]}?" if close else "try NOT_LEADER_OR_FOLLOWER"
    raise MessageFaultError(f"Kafka has no error {value!r}", where=where, hint=hint)


def _object(data: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise MessageFaultError(f"{data!r} is no object", where=where, hint="put it in { }")
    for name in data:
        if name not in known:
            raise MessageFaultError(
                f"unknown field {name!r}", where=where, hint=f"known are {', '.join(known)}"
            )
    return dict(data)


def _string(data: Mapping[str, Any], name: str, where: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise MessageFaultError(f"{name} is {value!r}", where=where, hint="it takes a string")
    return value


def _number(data: Mapping[str, Any], name: str, where: str) -> float:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MessageFaultError(f"{name} is {value!r}", where=where, hint="it takes seconds")
    return float(value)


def _whole_number(value: Any, name: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise MessageFaultError(f"{name} is {value!r}", where=where, hint="it takes a whole number")
    return value
