"""The registry: every system, client, workload, nemesis and checker that a run can name.

Ours (builtin.py) and those of plugins (plugins.py) are registered by the same calls. What is
registered may be an object, or text that says where it is ("nemesis.kill:Kills"): a module named by
text is imported when something of it is made, so naming everything costs no start-up time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from harness.builtin import register_ours

if TYPE_CHECKING:
    from checkers.checker import Checker
    from harness.cluster.parts import Part

Named = str | Callable[..., Any]
"""A class or function, or the text `module:name` for it."""
KAFKA = "kafka"
_Entry = TypeVar("_Entry")


class TakenError(ValueError):
    """Two things of one kind have the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemKind:
    make: Named
    """Called with the place and the properties of --broker-config; returns a System."""
    about: str
    parts: frozenset[Part]
    """Parts that its instances offer, known before one is made (harness/cluster/parts.py)."""
    protocol: str = KAFKA
    """Clients of the same protocol can be used with it."""
    flushes: bool = False
    """Whether it promises that an acknowledged record is on stable storage, so that a loss of power
    must not cost it, though no other node has a copy."""
    readiness: Named | None = None
    """Called without arguments; what `harness systems ls` says of it instead of `ready`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKind:
    make: Named
    """Called with the ClientSettings and a client id; returns a Client."""
    protocol: str = KAFKA
    operations: frozenset[str] | None = None
    """Operations that it can do; None for all that our workloads have."""
    lacks: frozenset[str] = frozenset()
    """Operations of our workloads that it cannot do."""
    chooses_versions: bool = False
    """Whether it follows --protocol-versions."""


@dataclass(slots=True)
class Registry:
    systems: dict[str, SystemKind] = field(default_factory=dict)
    clients: dict[str, ClientKind] = field(default_factory=dict)
    workloads: dict[str, Named] = field(default_factory=dict)
    """Each is called with a Load and returns a Workload."""
    nemeses: dict[str, Named] = field(default_factory=dict)
    """Each is called with name, variant and target, and returns a Nemesis."""
    checkers: list[Checker] = field(default_factory=list)
    """Of plugins; ours declare themselves in the package checkers."""

    def system(
        self,
        name: str,
        make: Named,
        *,
        about: str,
        parts: Iterable[Part] = (),
        protocol: str = KAFKA,
        flushes: bool = False,
        readiness: Named | None = None,
    ) -> None:
        kind = SystemKind(
            make=make,
            about=about,
            parts=frozenset(parts),
            protocol=protocol,
            flushes=flushes,
            readiness=readiness,
        )
        _enter(self.systems, "system", name, kind)

    def client(
        self,
        name: str,
        make: Named,
        *,
        protocol: str = KAFKA,
        operations: Iterable[str] | None = None,
        lacks: Iterable[str] = (),
        chooses_versions: bool = False,
    ) -> None:
        can_do = None if operations is None else frozenset(operations)
        kind = ClientKind(
            make=make,
            protocol=protocol,
            operations=can_do,
            lacks=frozenset(lacks),
            chooses_versions=chooses_versions,
        )
        _enter(self.clients, "client", name, kind)

    def workload(self, name: str, make: Named) -> None:
        _enter(self.workloads, "workload", name, make)

    def nemesis(self, name: str, make: Named) -> None:
        _enter(self.nemeses, "nemesis", name, make)

    def checker(self, checker: Checker) -> None:
        self.checkers.append(checker)

    def clients_for(self, system: str) -> list[str]:
        """Clients that speak the system's protocol, the usual one first."""
        protocol = self.systems[system].protocol
        return [name for name, kind in self.clients.items() if kind.protocol == protocol]


def _enter(table: dict[str, _Entry], what: str, name: str, entry: _Entry) -> None:
    if type(name) is not str or not name:  # plugins are not type-checked
        raise TypeError(f"{name!r} cannot be the name of a {what}; choose a word")
    if name in table:
        raise TakenError(f"there is a {what} {name!r} already; choose another name")
    table[name] = entry


def found(named: Named) -> Any:
    """The class or function itself."""
    if not isinstance(named, str):
        return named
    module, _, name = named.partition(":")
    return getattr(importlib.import_module(module), name)


def is_ours(named: Named) -> bool:
    """Whether it is of this project, so that mypy has checked it."""
    return isinstance(named, str) and named.startswith(("harness.", "nemesis.", "workloads."))


def unknown(what: str, name: str, table: Mapping[str, object]) -> str:
    """The sentence for a name that is not in its table."""
    return f"unknown {what} {name!r}; choose one of {', '.join(table)}"


REGISTRY = Registry()
register_ours(REGISTRY)
