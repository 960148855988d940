"""The command's manners: exit codes, and never a traceback for what a user can get wrong."""

import subprocess
import sys

import pytest

from broker.cli import main
from tests.unit.broker.cli.conftest import Run

RESET = ("groups", "reset-offsets", "--bootstrap", "h:1", "g", "--topic", "t")


def test_help_names_every_command(broker: Run) -> None:
    ran = broker("--help")
    assert ran.code == 0
    for command in ("start", "format", "dump-log", "topics", "partitions", "quorum", "groups"):
        assert command in ran.out


def test_a_command_imports_what_it_needs_and_no_more() -> None:
    """A run starts such processes by the dozen, and the whole broker takes 0.2 s to import."""
    program = (
        "import sys; from broker.cli.main import run; run(['format', '--help']);"
        "sys.exit('broker.node' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Usage: broker format")


def test_a_misspelt_command_is_answered_with_the_closest(broker: Run) -> None:
    ran = broker("frmat")
    assert (ran.code, ran.err) == (
        254,
        "broker: No such command 'frmat'. Did you mean 'format'?\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("bogus",),
        ("start",),
        ("start", "--bogus"),
        ("start", "--config"),
        ("topics",),
        ("topics", "describe"),
        ("topics", "describe", "--bootstrap", "nowhere"),
        ("topics", "describe", "--bootstrap", "h:99999"),
        ("quorum",),
        ("quorum", "describe"),
        ("quorum", "describe", "--bootstrap-server", "nowhere"),
        ("topics", "create", "--bootstrap", "h:1", "--partitions", "many", "t"),
        ("topics", "create", "--bootstrap", "h:1", "--config", "x", "t"),
        ("groups",),
        ("groups", "list"),
        ("groups", "list", "--bootstrap", "h:1", "--state", "Sleepy"),
        ("groups", "list", "--bootstrap", "h:1", "--type", "odd"),
        ("groups", "describe", "--bootstrap", "h:1", "--state", "--members", "g"),
        ("groups", "describe", "--bootstrap", "h:1", "--timeout", "0", "g"),
        ("groups", "describe", "--bootstrap", "h:1", "--timeout", "nan", "g"),
        ("groups", "list", "--bootstrap-server", "h:1,i:1"),
        ("groups", "describe", "--bootstrap", "h:1", ""),
        ("groups", "delete", "--bootstrap", "h:1"),
        ("groups", "delete", "--bootstrap", "h:1", "g", ""),
        ("groups", "delete-offsets", "--bootstrap", "h:1", "g"),
        ("groups", "delete-offsets", "--bootstrap", "h:1", "", "--topic", "t"),
        ("groups", "reset-offsets", "--bootstrap", "h:1", "--topic", "t", "--to-latest"),
        ("groups", "reset-offsets", "--bootstrap", "h:1", "g", "--to-latest"),
        ("groups", "reset-offsets", "--bootstrap", "h:1", "g", "--topic", "t"),
        ("groups", "reset-offsets", "--bootstrap", "h:1", "", "--topic", "t", "--to-latest"),
        (*RESET, "--to-latest", "--all-topics"),
        (*RESET, "--to-latest", "--to-earliest"),
        (*RESET, "--to-latest", "--execute", "--dry-run"),
        (*RESET, "--to-offset", "-1"),
        (*RESET, "--shift-by", "few"),
        (*RESET, "--to-datetime", "yesterday"),
        (*RESET, "--by-duration", "P1M"),
        ("dump-log",),
        ("format",),
    ],
)
def test_a_wrong_command_line_ends_with_254_and_a_sentence(
    broker: Run, arguments: tuple[str, ...]
) -> None:
    ran = broker(*arguments)
    assert ran.code == 254
    assert ran.err.strip()
    assert "Traceback" not in ran.err
    assert "cannot connect" not in ran.err


def test_a_peer_that_is_not_there_ends_with_255(broker: Run) -> None:
    ran = broker("topics", "list", "--bootstrap", "127.0.0.1:1")
    assert (ran.code, ran.err) == (255, "cannot connect to 127.0.0.1:1: Connection refused\n")


def test_a_bug_shows_its_traceback_and_does_not_pass_for_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def break_down(arguments: object) -> int:
        raise AssertionError("this cannot be")

    monkeypatch.setitem(main.__globals__, "run", break_down)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 255
    assert "AssertionError: this cannot be" in capsys.readouterr().err
