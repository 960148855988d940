"""A small server for the store: a list of runs, the page of each, and two side by side.

It only ever answers GET and HEAD, and none of them changes anything. What it sends of a run is
named by the list of runs, never by a path that a request holds.
"""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from harness.errors import EnvironmentFailure
from harness.store.inside import DamagedError, MissingError, text_inside
from harness.store.store import is_under_way
from harness.store.stored_run import read_plan, read_results
from reports import sentences
from reports.comparison import compare_runs
from reports.html import NAME, environment, report
from reports.wording import as_words, readable

_TEXTS = {"results.json": "application/json", "summary.txt": "text/plain",
          "plan.json": "application/json", "schedule.json": "application/json",
          "env.json": "application/json"}  # fmt: skip


class State(Enum):
    """How far a run has come."""

    JUDGED = "judged"
    UNDER_WAY = "under way"
    NO_END = "no end"
    CORRUPT = "corrupt"
    """Its files are not what a run writes."""


_NO_END = "it was killed, or crashed; harness analyze judges what it recorded"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True, slots=True)
class Listed:
    name: str
    """`queue kill/20261116T001530.123Z`, as in the store."""
    link: str
    kind: str
    time: str
    """`2026-11-16 00:15:30`; sorts as it is."""
    state: State
    verdict: str
    """Its validity, or else its state."""
    detail: str
    seed: str = ""
    place: str = ""
    nodes: str = ""
    duration: str = ""


class Served(ThreadingHTTPServer):
    def __init__(
        self, root: Path, runs: Callable[[], Sequence[Path]], host: str, port: int
    ) -> None:
        """`runs` lists what there is, each time anew."""
        self.address_family, address = _address(host, port)
        super().__init__(address, _Handler)
        self.root = root
        self.runs = runs
        self.host = host
        # Plots share one library's settings, so pages are made one after the other.
        self.making = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    server: Served
    server_version = "harness"
    sys_version = ""

    def do_GET(self) -> None:
        try:
            if not _is_for_us(self.headers.get("Host", ""), self.server.host):
                self._send(HTTPStatus.FORBIDDEN, "the Host header names another server")
                return
            self._answer()
        except EnvironmentFailure as failure:
            # What is damaged in a store is no failure of this server: there is no such page.
            self._send(HTTPStatus.NOT_FOUND, str(failure))
        except ConnectionError:
            pass  # the client has gone
        except Exception as bug:
            # A page is made of what a run has stored; whatever that is, there is an answer.
            traceback.print_exc()
            said = f"the page cannot be made: {type(bug).__name__}: {bug}"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, said)

    do_HEAD = do_GET  # noqa: N815

    def _answer(self) -> None:
        asked = urlsplit(self.path)
        found = {_name(path): path for path in self.server.runs()}
        parts = [unquote(part) for part in asked.path.split("/")[1:]]
        match parts:
            case [""]:
                self._send(
                    HTTPStatus.OK, _list(self.server.root, list(found.values())), "text/html"
                )
            case ["compare"]:
                self._compare(found, parse_qs(asked.query).get("run", []))
            case ["run", kind, time] if f"{kind}/{time}" in found:
                with self.server.making:
                    text = _page(found[f"{kind}/{time}"])
                self._send(HTTPStatus.OK, text, "text/html")
            case ["run", kind, time, name] if f"{kind}/{time}" in found and name in _TEXTS:
                text = text_inside(found[f"{kind}/{time}"], name)
                self._send(HTTPStatus.OK, text, _TEXTS[name])
            case _:
                self._send(HTTPStatus.NOT_FOUND, "there is no such page; / lists the runs")

    def _compare(self, found: Mapping[str, Path], names: list[str]) -> None:
        if len(names) != 2 or not all(name in found for name in names):
            said = "a comparison needs two runs; go back and pick two runs of the list"
            self._send(HTTPStatus.BAD_REQUEST, said)
            return
        rows = compare_runs(found[names[0]], found[names[1]])[1:]
        runs = [_listed(found[name]) for name in names]
        text = environment().get_template("compare.html.j2").render(rows=rows, runs=runs)
        self._send(HTTPStatus.OK, text, "text/html")

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode(errors="backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY + "; form-action 'self'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are not logged."""


def _address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """The first that the name stands for, of either version of IP."""
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return family, address


def _is_for_us(said: str, host: str) -> bool:
    """A page elsewhere must not reach us by a name of its own that leads here."""
    name = said.rpartition(":")[0] if said.rpartition(":")[2].isdigit() else said
    return host not in ("127.0.0.1", "localhost", "::1") or name in (
        "127.0.0.1", "localhost", "[::1]", "::1")  # fmt: skip


def _name(directory: Path) -> str:
    return f"{directory.parent.name}/{directory.name}"


def _list(root: Path, runs: Sequence[Path]) -> str:
    rows = [_listed(directory) for directory in reversed(runs)]
    return environment().get_template("list.html.j2").render(rows=rows, root=root.name)


def _listed(directory: Path) -> Listed:
    plan: Mapping[str, Any] = {}
    state, verdict = State.JUDGED, ""
    try:
        plan = read_plan(directory)
        results = read_results(directory)
        verdict, detail = results.validity.value, sentences.detail(results)
    except MissingError:
        state = State.UNDER_WAY if is_under_way(directory) else State.NO_END
        detail = _NO_END if state is State.NO_END else ""
    except DamagedError as damaged:
        state, detail = (
            State.CORRUPT,
            f"{damaged.path.name} is not what a run writes: {damaged.why}",
        )
    kind, name = directory.parent.name, directory.name
    return Listed(
        name=_name(directory),
        link=f"/run/{quote(kind, safe='')}/{name}",
        kind=kind,
        time=readable(name) or name,
        state=state,
        verdict=verdict or state.value,
        detail=detail,
        seed=as_words(plan.get("seed")),
        place=as_words(plan.get("on")),
        nodes=as_words(plan.get("nodes")),
        duration=f"{as_words(plan['time_limit_s'])} s" if "time_limit_s" in plan else "",
    )


def _page(directory: Path) -> str:
    """A run that was judged has a page of its own; of any other it is what there is so far."""
    row = _listed(directory)
    if row.state is State.JUDGED:
        return text_inside(directory, NAME) or report(directory)
    from reports.live import live_page

    is_live = row.state is State.UNDER_WAY
    return live_page(directory, row.verdict, _plan(directory), row.detail, is_live=is_live)


def _plan(directory: Path) -> Mapping[str, Any]:
    """What is known of it: a corrupt plan tells nothing."""
    try:
        return read_plan(directory)
    except DamagedError:
        return {}
