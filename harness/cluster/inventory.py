"""The inventory: which hosts there are, how to get in, and what may be done to them; a TOML file.

    [defaults]                 # for every host that does not say it itself
    user = "admin"
    sudo = true

    [[hosts]]
    address = "192.168.56.11"

Everything but the address has a default. What is wrong with a file is told by file, line and field,
and with what to try.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn

from harness.cluster.capabilities import Node
from harness.errors import UsageFailure

CLIENTS: Node = "clients"
"""What the network calls the host of the clients, so no node is called that."""

_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
_NODE = re.compile(r"[a-z][a-z0-9-]{0,30}")
_HEADER = re.compile(r"\s*\[\[\s*hosts\s*\]\]")
_PORT_MAX = 65535
_EXAMPLE = "vagrant/inventory.example.toml shows what one looks like"


class InventoryError(UsageFailure):
    """The file cannot be used; the message says where and what to try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryHost:
    """One host, as the file describes it. A directory may begin with ~, the user's home there."""

    node: Node
    address: str
    """Where brokers listen, and where clients and other brokers reach it."""
    management: str | None = None
    """Where ssh reaches it, if that is another address; then no cut can touch ssh."""
    port: int = 22
    user: str = "root"
    key_file: Path
    known_hosts: Path = field(default_factory=lambda: Path("~/.ssh/known_hosts").expanduser())
    check_host_key: bool = True
    """If not, whatever key a host shows at first is taken for its own."""
    sudo: bool = False
    """Whether the user may do anything as root without a password. Root needs no sudo."""
    home: str = "~/log-trial"
    """Everything of ours on the host is below it."""
    data_dir: str | None = None
    """What brokers store goes below it; below the home if there is none."""
    python: str = "python3"
    own_clock: bool = False
    """Whether its clock is its own to set, as in a virtual machine."""

    @property
    def ssh_address(self) -> str:
        return self.management or self.address

    @property
    def has_root(self) -> bool:
        return self.sudo or self.user == "root"


@dataclass(frozen=True, slots=True)
class Inventory:
    hosts: tuple[InventoryHost, ...]
    source: str
    """Where it is from, for sentences."""

    def first(self, count: int) -> Sequence[InventoryHost]:
        if len(self.hosts) < count:
            raise InventoryError(
                f"{self.source} names {len(self.hosts)} hosts, and {count} are asked for; "
                f"try --nodes {len(self.hosts)}"
            )
        return self.hosts[:count]


def load_inventory(path: Path) -> Inventory:
    try:
        text = path.read_text()
    except UnicodeDecodeError as error:
        raise InventoryError(f"{path} is no TOML: {error}; {_EXAMPLE}") from None
    except OSError as error:
        raise InventoryError(f"{path}: {error.strerror}; {_EXAMPLE}") from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InventoryError(f"{path} is no TOML: {error}; {_EXAMPLE}") from None
    return read_inventory(found, source=str(path), text=text, beside=path.parent)


def read_inventory(
    found: Mapping[str, Any], *, source: str, text: str = "", beside: Path
) -> Inventory:
    """`beside` is where relative file names begin; `text` tells the lines of hosts."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    top = _Reader(source, "", beside)
    top.check_names(found, ("defaults", "hosts"))
    defaults = found.get("defaults", {})
    hosts = found.get("hosts", [])
    if not isinstance(defaults, dict):
        top.refuse("defaults", "is no table; try [defaults]")
    if not isinstance(hosts, list) or not hosts:
        top.refuse("hosts", "names nobody; try [[hosts]] and an address")
    _Reader(source, "defaults.", beside).check_names(defaults, _FOR_ALL)
    read = []
    for number, host in enumerate(hosts, 1):
        line = f":{lines[number - 1]}" if number <= len(lines) else ""
        reader = _Reader(f"{source}{line}", f"hosts[{number}].", beside)
        if not isinstance(host, dict):
            reader.refuse("", "is no table; try [[hosts]] and an address below it")
        reader.check_names(host, _FIELDS)
        read.append(reader.host({"node": f"n{number}", **defaults, **host}))
    _check_unique(source, read)
    return Inventory(tuple(read), source)


_FIELDS = tuple(each.name for each in fields(InventoryHost))
_FOR_ALL = tuple(name for name in _FIELDS if name not in ("node", "address", "management"))


class _Reader:
    """Of one table of the file."""

    def __init__(self, where: str, prefix: str, beside: Path) -> None:
        self._where = where
        self._prefix = prefix
        self._beside = beside

    def refuse(self, name: str, why: str) -> NoReturn:
        what = f"{self._prefix}{name}".rstrip(".")
        raise InventoryError(f"{self._where}: {what} {why}")

    def check_names(self, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for name in table:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1) or known
                self.refuse(name, f"means nothing; try {', '.join(near)}")

    def host(self, table: Mapping[str, Any]) -> InventoryHost:
        node = self._text(table, "node")
        if node == CLIENTS or not _NODE.fullmatch(node):
            self.refuse("node", f"is {node!r}, which is no name for a node; try n1, n2, ...")
        if "address" not in table:
            self.refuse("address", 'is missing; try address = "192.168.56.11"')
        values: dict[str, Any] = {"node": node, "address": self._text(table, "address")}
        for name in ("management", "user", "home", "data_dir", "python"):
            if name in table:
                values[name] = self._text(table, name)
        for name in ("sudo", "own_clock", "check_host_key"):
            if name in table:
                values[name] = self._yes_or_no(table, name)
        for name in ("home", "data_dir"):
            self._check_absolute(name, values.get(name))
        if "port" in table:
            values["port"] = self._port(table)
        if "known_hosts" in table:
            values["known_hosts"] = self._file(table, "known_hosts")
        values["key_file"] = self._key(table)
        return InventoryHost(**values)

    def _text(self, table: Mapping[str, Any], name: str) -> str:
        value = table[name]
        if not isinstance(value, str) or not value.strip() or "\n" in value:
            self.refuse(name, f'is {value!r}; try {name} = "..."')
        return value.strip()

    def _yes_or_no(self, table: Mapping[str, Any], name: str) -> bool:
        value = table[name]
        if not isinstance(value, bool):
            self.refuse(name, f"is {value!r}; try true or false, without quotes")
        return value

    def _port(self, table: Mapping[str, Any]) -> int:
        value = table["port"]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _PORT_MAX:
            self.refuse("port", f"is {value!r}; try a number from 1 to {_PORT_MAX}")
        return value

    def _check_absolute(self, name: str, value: str | None) -> None:
        if value is not None and not value.startswith(("/", "~/")):
            self.refuse(name, f"is {value!r}; try one that begins with / or with ~/")

    def _file(self, table: Mapping[str, Any], name: str) -> Path:
        path = self._beside / Path(self._text(table, name)).expanduser()
        if not path.is_file():
            self.refuse(name, f"is {path}, and there is no such file")
        return path

    def _key(self, table: Mapping[str, Any]) -> Path:
        if "key_file" in table:
            return self._file(table, "key_file")
        keys = [Path("~/.ssh").expanduser() / name for name in _KEYS]
        found = next((key for key in keys if key.is_file()), None)
        if found is not None:
            return found
        return self.refuse(
            "key_file", "is missing, and ~/.ssh holds no key; try ssh-keygen -t ed25519"
        )


def _check_unique(source: str, hosts: Sequence[InventoryHost]) -> None:
    for name in ("node", "address"):
        seen: set[str] = set()
        for host in hosts:
            value = getattr(host, name)
            if value in seen:
                raise InventoryError(
                    f"{source}: two hosts have the {name} {value}; each needs its own"
                )
            seen.add(value)
