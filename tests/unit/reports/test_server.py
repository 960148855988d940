"""The server of stored runs: what it shows, and what it never does."""

import fcntl
import http.client
import os
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from harness.cli.compare import compare
from harness.store.store import RUNNING, Store
from reports.comparison import Change, compare_runs
from reports.server import Served
from reports.wording import as_words
from tests.unit.reports.stored_runs import Rows, lost_write, stored

RUN = "/run/queue%20kill/20261116T001530.123Z"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "store"
    lost_write(root)
    store = Store(root)
    with Served(root, lambda: list(store.runs()), "127.0.0.1", 0) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def asked(
    server: ThreadingHTTPServer, path: str, method: str = "GET", host: str | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def test_it_lists_runs_with_their_verdicts(server: ThreadingHTTPServer) -> None:
    status, body = asked(server, "/")
    assert status == 200
    assert '<td class="nowrap invalid">invalid</td>' in body
    assert '<td class="t">1 lost-write</td>' in body
    assert RUN in body
    assert ">2026-11-16 00:15:30</a>" in body
    for label, value in (("seed", "7"), ("on", "netns"), ("nodes", "3"), ("for", "60 s")):
        assert f'data-label="{label}">{value}</td>' in body
    # Two runs are picked and compared at the top, however many there are.
    assert body.index('type="submit"') < body.index("<table")


def test_it_shows_the_page_of_a_run_and_its_files(server: ThreadingHTTPServer) -> None:
    assert "104 is at offset 4" in asked(server, RUN)[1]
    assert '"schema"' in asked(server, f"{RUN}/results.json")[1]


@pytest.mark.parametrize(
    "path",
    [
        "/secret",
        "/../secret",
        "/run/../secret",
        "/run/queue%20kill/..%2f..%2f..%2fsecret",
        "/run/..%2f/secret",
        f"{RUN}/../../../../secret",
        f"{RUN}/..%2f..%2f..%2fsecret",
        f"{RUN}/%2e%2e%2fsecret",
        f"{RUN}/history.parquet",
        "/run//etc/passwd",
        "//etc/passwd",
        "/compare?run=../secret&run=/etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_store(server: ThreadingHTTPServer, path: str) -> None:
    status, body = asked(server, path)
    assert status in (400, 404)
    assert "secret" not in body
    assert "root:" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(server: ThreadingHTTPServer, method: str) -> None:
    assert asked(server, RUN, method)[0] == 501


def test_a_page_elsewhere_cannot_reach_it_by_another_name(server: ThreadingHTTPServer) -> None:
    assert asked(server, "/", host="evil.example:80")[0] == 403
    assert asked(server, "/", host="localhost:80")[0] == 200


def test_looking_leaves_the_store_as_it_was(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    name = quote("queue kill/20261116T001530.123Z")
    for path in ("/", RUN, f"/compare?run={name}&run={name}"):
        assert asked(server, path)[0] == 200
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_under_way_shows_what_it_has(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    run = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    (run / "results.json").unlink()
    with (run / RUNNING).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        body = asked(server, RUN)[1]
    # Its process has died.
    assert "NO END" in asked(server, RUN)[1]
    assert "UNDER WAY" in body
    assert 'http-equiv="refresh"' in body
    assert "kill n1" in body
    assert "healed after 0.9 s" in body
    assert '<td class="mono t">orders-3</td><td>n2</td><td class="n">3 of 3</td>' in body
    assert "changes of leader <b>1</b>" in body
    assert "<polyline" in body
    assert "3 s of 60 s" in body


def test_a_run_that_came_to_no_end_says_what_can_be_done(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    run = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    (run / "results.json").unlink()
    for path in (run / "history.parquet").iterdir():
        path.unlink()
    (run / "command.txt").write_text("harness test --seed 7\n")
    body = asked(server, RUN)[1]
    assert "NO END" in body
    assert "harness analyze" in body
    assert 'http-equiv="refresh"' not in body
    assert "Nothing was recorded" in body
    assert "in force" not in body
    assert "harness test --seed 7" in body


def test_two_runs_are_compared_figure_by_figure(tmp_path: Path) -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    rows.send(900, 0, 2, 1)
    guilty, green = lost_write(tmp_path / "one"), stored(tmp_path / "other", rows, {})
    found = {row.name: row for row in compare_runs(guilty, green)}
    # What matters first, what was asked for last; what one of them lacks stands where it belongs.
    for names in (list(found), [row.name for row in compare_runs(green, guilty)]):
        assert names[:3] == ["run", "verdict", "anomalies: lost-write"]
        assert names.index("recovery: kill, median") < names.index("latency: send, median")
        assert names[-1].startswith("plan: ")
    assert {name: (*found[name].values, found[name].delta, found[name].change) for name in (
        "verdict", "anomalies: lost-write", "availability: ended ok", "load: operations",
        "recovery: longest time without an acknowledgement", "recovery: kill, longest",
        "load: changes of leader", "latency: send, median",
    )} == {
        "verdict": ("invalid", "valid", "", Change.BETTER),
        "anomalies: lost-write": ("1", "0", "-1 (-100 %)", Change.BETTER),
        "availability: ended ok": ("81.82 %", "100.00 %", "+18.18 %", Change.BETTER),
        "load: operations": ("11", "2", "-9 (-82 %)", Change.NEITHER),
        "recovery: longest time without an acknowledgement": (
            "1.10 s", "0.90 s", "-0.20 s (-18 %)", Change.BETTER),
        "recovery: kill, longest": ("1.10 s", "-", "", Change.NEITHER),
        "load: changes of leader": ("1", "-", "", Change.NEITHER),
        "latency: send, median": ("4.0 ms", "4.0 ms", "", Change.SAME),
    }  # fmt: skip
    back = {row.name: row.change for row in compare_runs(green, guilty)}
    assert back["verdict"] is back["anomalies: lost-write"] is Change.WORSE


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (True, "yes"),
        (None, ""),
        (20.0, "20"),
        (
            {"unclean.leader.election.enable": "true", "x": 1},
            "unclean.leader.election.enable=true, x=1",
        ),
        (["a", 2], "a, 2"),
        ({}, ""),
        ("1", "1"),
    ],
)
def test_what_was_asked_for_is_said_in_words(value: object, said: str) -> None:
    assert as_words(value) == said


def test_the_command_prints_one_line_for_each_figure(tmp_path: Path) -> None:
    guilty, green = lost_write(tmp_path / "one"), stored(tmp_path / "other", Rows(), {})
    told = CliRunner().invoke(compare, [str(guilty), str(green)])
    assert told.exit_code == 0
    first, *lines = told.output.splitlines()
    assert first.count("queue kill/20261116T001530.123Z") == 2
    assert lines[0].split() == ["verdict", "invalid", "valid", "better"]
    assert lines[1].split() == ["anomalies:", "lost-write", "1", "0", "-1", "(-100", "%)", "better"]
    # All in columns.
    assert lines[0].index("invalid") == lines[1].index("1 ")


def test_it_sends_nothing_that_lies_outside_of_the_store(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    directory = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    for name in ("summary.txt", "report.html", "command.txt"):
        (directory / name).unlink(missing_ok=True)
        (directory / name).symlink_to(tmp_path / "secret")
    for path in (f"{RUN}/summary.txt", RUN):
        status, body = asked(server, path)
        assert status == 404
        assert "is a link" in body
        assert body != "secret"


def test_a_run_whose_plan_is_corrupt_is_called_corrupt(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    directory = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    (directory / "plan.json").write_text("[]")
    assert '<td class="nowrap corrupt">corrupt</td>' in asked(server, "/")[1]
    status, body = asked(server, RUN)
    assert status == 200
    assert "CORRUPT</span> queue kill" in body
    assert "plan.json is not what a run writes" in body
    assert "?" not in body.partition("<body")[2].partition("again")[0]


def test_a_pipe_keeps_nobody_waiting(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    directory = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    for name in ("summary.txt", "results.json"):
        (directory / name).unlink(missing_ok=True)
        os.mkfifo(directory / name)
    assert asked(server, f"{RUN}/summary.txt")[0] == 404
    assert "no regular file" in asked(server, "/")[1]
    assert "no regular file" in asked(server, RUN)[1]


def test_a_page_that_is_no_utf_8_is_sent_all_the_same(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    directory = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    (directory / "report.html").write_bytes(b"<p>\xff\xfe here")
    status, body = asked(server, RUN)
    assert status == 200
    assert body == "<p>\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} here"


def test_a_corrupt_run_is_called_corrupt(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    directory = tmp_path / "store" / "queue kill" / "20261116T001530.123Z"
    (directory / "results.json").write_text('{"run": "2026')
    status, body = asked(server, "/")
    assert status == 200
    assert '<td class="nowrap corrupt">corrupt</td>' in body
    assert "results.json is not what a run writes: Unterminated string" in body
    status, body = asked(server, RUN)
    assert status == 200
    assert "CORRUPT" in body
    assert "results.json is not what a run writes: Unterminated string" in body
    # It is over: nothing of it happens now.
    for said in ("it was killed", "are being healed", "Leaders now", "in force: "):
        assert said not in body
    assert "Leaders at the end" in body


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_a_page_that_is_no_file_is_not_found(
    server: ThreadingHTTPServer, tmp_path: Path, kind: str
) -> None:
    page = tmp_path / "store" / "queue kill" / "20261116T001530.123Z" / "report.html"
    page.unlink(missing_ok=True)
    match kind:
        case "link":
            page.symlink_to(tmp_path / "secret")
        case "pipe":
            os.mkfifo(page)
        case _:
            page.mkdir()
    status, body = asked(server, RUN)
    assert status == 404
    assert "report.html is damaged: it is" in body
