"""What Linux says in /proc about processes: their states, and who belongs to a group."""

from __future__ import annotations

from pathlib import Path

_STOPPED = "T"
_ENDED = ("Z", "X")
_GROUP_FIELD = 2


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return fields is not None and fields[0] not in _ENDED


def is_stopped(pid: int) -> bool:
    """Every thread of it: a signal stops them one after the other."""
    states = [
        fields[0]
        for thread in Path(f"/proc/{pid}/task").glob("*/stat")
        if (fields := _fields(thread)) is not None
    ]
    return bool(states) and all(state == _STOPPED for state in states)


def living_members(group: int) -> list[int]:
    """The processes of a process group, without zombies."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(stat)
        if fields and fields[_GROUP_FIELD] == str(group) and fields[0] not in _ENDED:
            members.append(int(stat.parent.name))
    return members


def _fields(stat: Path) -> list[str] | None:
    """State, parent, group and so on; None if there is no such process any more."""
    try:
        # The name before them stands in parentheses and may hold any character, these too.
        return stat.read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
