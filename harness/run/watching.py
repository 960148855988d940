"""Progress of a run: a live view on a terminal, plain lines elsewhere, or nothing.

A run announces steps and snapshots of its counts to a `Watcher`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

_PLAIN_EVERY_S = 10.0

NodeMark = Literal["up", "down", "paused", "cut off", "struck"]
_SIGNS: dict[NodeMark, str] = {"up": "●", "down": "○", "paused": "◌", "cut off": "◐", "struck": "◑"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    elapsed_s: float
    of_s: float
    nodes: Mapping[str, NodeMark]
    ok: int
    fail: int
    info: int
    per_s: float
    p99_ms: float | None
    unread: int
    faults: tuple[str, ...] = ()
    """Faults in force, one sentence each."""
    faults_done: int = 0
    elections: int | None = None
    """Number of leader changes, or None if the run does not watch the cluster."""


class Watcher(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def step(self, what: str) -> None:
        """Called at the begin of a step, for example with `checking`."""
        ...

    def tick(self, now: Snapshot) -> None:
        """Called about once a second with the current counts."""
        ...


@dataclass(slots=True)
class Silent:
    """For --json and --quiet: prints nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def step(self, what: str) -> None:
        pass

    def tick(self, now: Snapshot) -> None:
        pass


@dataclass(slots=True)
class Plain(Silent):
    """Prints one line for each step, and one every ten seconds."""

    title: str
    out: TextIO = field(default_factory=lambda: sys.stdout)
    _due_s: float = _PLAIN_EVERY_S

    def step(self, what: str) -> None:
        print(what, file=self.out, flush=True)
        self._due_s = _PLAIN_EVERY_S

    def tick(self, now: Snapshot) -> None:
        if now.elapsed_s >= self._due_s:
            self._due_s += _PLAIN_EVERY_S
            print(plain_line(now), file=self.out, flush=True)


def plain_line(now: Snapshot) -> str:
    faults = "; ".join(now.faults) or "none"
    return f"{_clock(now)}  {_counts(now)}  fault: {faults}{_elections(now)}"


@dataclass(slots=True)
class OnTerminal(Silent):
    """Three live lines at the bottom of the terminal; steps scroll above them."""

    title: str
    console: Console
    _live: Live | None = None

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(console=self.console, refresh_per_second=4, transient=True)
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self, what: str) -> None:
        from rich.text import Text

        self.console.print(Text(what))
        if self._live is not None:
            self._live.update(Text(f"{self.title}    {what}"))

    def tick(self, now: Snapshot) -> None:
        if self._live is not None:
            self._live.update(self._shown(now))

    def _shown(self, now: Snapshot) -> RenderableType:
        from rich.text import Text

        nodes = " ".join(f"{node}{_SIGNS[mark]}" for node, mark in now.nodes.items())
        marks = sorted({mark for mark in now.nodes.values() if mark != "up"})
        legend = "".join(f"   ({_SIGNS[mark]} {mark})" for mark in marks)
        faults = "; ".join(now.faults) or "none"
        return Text("\n").join(
            [
                Text(f"{self.title}    {_clock(now)}    {nodes}{legend}", no_wrap=True),
                Text(_counts(now), no_wrap=True),
                Text(
                    f"fault  {faults}     faults {now.faults_done}{_elections(now)}", no_wrap=True
                ),
            ]
        )


def _clock(now: Snapshot) -> str:
    return f"{_minutes(now.elapsed_s)} / {_minutes(now.of_s)}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


def _elections(now: Snapshot) -> str:
    return "" if now.elections is None else f"   elections {now.elections:,}"


def _counts(now: Snapshot) -> str:
    p99 = "-" if now.p99_ms is None else f"{now.p99_ms:,.0f} ms"
    return (
        f"ok {now.ok:,}  fail {now.fail:,}  info {now.info:,}    {now.per_s:,.0f} op/s   "
        f"p99 {p99}   unread {now.unread:,}"
    )


def watcher_of(title: str, *, is_silent: bool, has_color: bool) -> Watcher:
    if is_silent:
        return Silent()
    if sys.stdout.isatty():
        from rich.console import Console

        return OnTerminal(title, Console(no_color=not has_color, highlight=False))
    return Plain(title)
