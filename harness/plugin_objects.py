"""What a plugin's object lacks of the protocol that it has to implement.

Plugins are not type-checked by us. A member that is missing would be found out when it is first
used, which may be at the end of a run; so it is looked for when the object is made, before anything
is started.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Protocol

from harness.errors import UsageFailure

_MISSING = object()


def require_members(made: Any, protocol: type, what: str, *, declared_in: str) -> None:
    """UsageFailure names what `made`, an object or a class, lacks of a protocol, and where it is.

    `what`: kind and name of the object, for the sentence. `declared_in`: the protocol's file. A
    class is asked only for methods and for what the protocol declares as ClassVar: an object may
    get everything else when it is made.
    """
    lacking = []
    for name, declared in _members(protocol).items():
        if isinstance(made, type) and not _is_of_class(protocol, name, declared):
            continue
        has = inspect.getattr_static(made, name, _MISSING)
        if has is _MISSING and not isinstance(made, type):
            has = getattr(made, name, _MISSING)  # of one that hands on what it is asked
        if has is _MISSING or has is declared:
            lacking.append(_spelled(name, declared))
        elif inspect.isfunction(declared) and not _can_be_called(made, name, declared):
            raise UsageFailure(
                f"{what} ({_where(made)}) has {name}, which cannot be called as "
                f"{_spelled(name, declared)}; {_remedy(protocol, declared_in)}"
            )
    if lacking:
        raise UsageFailure(
            f"{what} ({_where(made)}) lacks {', '.join(lacking)}; {_remedy(protocol, declared_in)}"
        )


def _members(protocol: type) -> dict[str, Any]:
    """By name: the function or property that the protocol declares, or None for an attribute."""
    found: dict[str, Any] = {}
    for each in protocol.__mro__:
        if each not in (Protocol, object) and getattr(each, "_is_protocol", False):
            names = {**dict.fromkeys(inspect.get_annotations(each)), **vars(each)}
            found |= {name: it for name, it in names.items() if not name.startswith("_")}
    return found


def _is_of_class(protocol: type, name: str, declared: Any) -> bool:
    said = inspect.get_annotations(protocol).get(name, "")
    return inspect.isfunction(declared) or str(said).startswith("ClassVar")


def _can_be_called(made: Any, name: str, declared: Any) -> bool:
    method = getattr(made, name)
    if not callable(method):
        return False
    given = list(inspect.signature(declared).parameters)
    try:
        inspect.signature(method).bind(*(given if isinstance(made, type) else given[1:]))
    except TypeError:
        return False
    except ValueError:  # of a method that does not tell its arguments, as one written in C
        return True
    return True


def _spelled(name: str, declared: Any) -> str:
    if not inspect.isfunction(declared):
        return name
    return f"{name}({', '.join(list(inspect.signature(declared).parameters)[1:])})"


def _where(made: Any) -> str:
    kind = made if isinstance(made, type) or inspect.isfunction(made) else type(made)
    module = sys.modules.get(kind.__module__)
    return f"{kind.__qualname__} in {getattr(module, '__file__', None) or kind.__module__}"


def _remedy(protocol: type, declared_in: str) -> str:
    return f"add what {protocol.__name__} of {declared_in} declares, as docs/extending.md shows"
