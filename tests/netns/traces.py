"""What a run has on this machine: found while it is up, looked for when it should be gone.

`of_process` looks at what belongs to one harness process, because other tests have hosts meanwhile;
`of_machine` at everything, for whoever has the machine to himself.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

REGISTRY = Path("/run/log-trial")


def of_process(harness: int, directory: Path, namespaces: frozenset[str]) -> list[str]:
    """Every trace of the hosts that this process made in that directory, in those namespaces."""
    return sorted(
        {
            *(f"entry {path}" for path in REGISTRY.glob(f"{harness}.*")),
            *(f"cgroup {path}" for path in _cgroups(harness)),
            *(f"process {pid}" for pid in processes(harness)),
            *(f"loop device {line}" for line in _loop_devices(directory)),
            *(f"mount {line}" for line in _mounts(directory)),
            *(f"disk {path}" for path in directory.rglob("*.img")),
            *(f"namespace {name}" for name in namespaces & _all_namespaces()),
        }
    )


def namespaces_of(harness: int) -> frozenset[str]:
    """Those of its hosts, of its clients and of its own threads, without this machine's own."""
    pids = [*processes(harness), harness]
    found = frozenset(name for pid in pids for name in _namespaces(Path(f"/proc/{pid}")))
    return found - {str(link.readlink()) for link in Path(f"/proc/{os.getpid()}/ns").iterdir()}


def processes(harness: int) -> list[int]:
    """Whoever is in a cgroup of it; not the harness itself."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if f"/log-trial.{harness}." in (path / "cgroup").read_text() and state not in "ZX":
                found.append(int(path.name))
    return found


def of_machine() -> frozenset[str]:
    """Everything of the kinds that hosts are made of, whoever made it."""
    return frozenset(
        {
            *(f"entry {path}" for path in REGISTRY.glob("*")),
            *(f"cgroup {path}" for path in _all_cgroups()),
            *(f"process {pid}: {name}" for pid, name in _processes_of_hosts()),
            *(f"loop device {line}" for line in _loop_devices(Path("/"))),
            *(f"mount {line}" for line in _own_mounts()),
            *(f"namespace {name}" for name in _all_namespaces()),
            *(f"network {line}" for told in root_network() for line in told.splitlines()),
        }
    )


def root_network() -> tuple[str, ...]:
    """What of the network is the machine's own: firewall, links, addresses, routes, namespaces."""
    commands = (
        ("nft", "list", "ruleset"),
        ("ip", "-o", "link"),
        ("ip", "-o", "addr"),
        ("ip", "route"),
        ("ip", "netns"),
    )
    return tuple(
        subprocess.run(argv, capture_output=True, text=True, check=True).stdout for argv in commands
    )


def _cgroups(harness: int) -> Iterator[Path]:
    for root in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
        yield from root.glob(f"log-trial.{harness}.*")


def _all_cgroups() -> Iterator[Path]:
    """Those of other programs come and go as they please."""
    for root in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
        yield from root.glob("log-trial.*")


def _processes_of_hosts() -> Iterator[tuple[str, str]]:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if "/log-trial." in (path / "cgroup").read_text():
                yield path.name, (path / "comm").read_text().strip()


def _own_mounts() -> list[str]:
    """By place: the numbers before it change from one mount to the next."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in lines]


def _loop_devices(directory: Path) -> Iterator[str]:
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            line = backing.read_text().strip()
            if directory in Path(line).parents:
                yield line


def _mounts(directory: Path) -> Iterator[str]:
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        with suppress(OSError):
            yield from (line for line in table.read_text().splitlines() if f"{directory}/" in line)


def _all_namespaces() -> frozenset[str]:
    return frozenset(name for path in Path("/proc").glob("[0-9]*") for name in _namespaces(path))


def _namespaces(process: Path) -> Iterator[str]:
    """Of all its threads, as each of them may be in another; and those that it holds open."""
    links = [link for task in _entries(process / "task") for link in _entries(task / "ns")]
    for link in (*links, *_entries(process / "fd")):
        with suppress(OSError):
            name = str(link.readlink())
            if ":[" in name and not name.startswith(("socket:", "pipe:", "anon_inode:")):
                yield name


def _entries(directory: Path) -> list[Path]:
    """None if it is gone by now."""
    try:
        return list(directory.iterdir())
    except OSError:
        return []
