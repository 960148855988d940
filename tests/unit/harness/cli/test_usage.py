"""What cannot be had is refused with 254 and a sentence, wherever in a run that is found out."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.cli import main
from harness.cluster.netns import rootless
from harness.run import doctor
from harness.store.inside import DamagedError


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--broker-config", "foo.bar=1"), "foo.bar: is not known"),
        (("--broker-config", "log.retention.ms=x"), "'x' is not a whole number"),
        (("--topic-config", "foo.bar=1"), "INVALID_CONFIG, unknown topic config name: foo.bar"),
    ],
)
def test_a_property_that_no_broker_takes_is_refused(
    words: tuple[str, ...], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--on", "sim", "--nodes", "1", "--time-limit", "1", "--store", str(tmp_path))
    assert ended("test", *small, *words) == 254
    told = capsys.readouterr().err
    assert complaint in told
    assert "run it again with: harness test" in told


@pytest.mark.parametrize("count", [1, 2])
def test_a_run_that_finds_a_damaged_file_is_told_with_the_file_and_the_command(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise DamagedError(tmp_path / "plan.json", "not a plan")

    monkeypatch.setattr("harness.run.run.execute", damaged)
    words = ("--on", "sim", "--store", str(tmp_path), "--test-count", str(count), "--seed", "7")
    assert ended("test", *words) == 255
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"harness: {tmp_path}/plan.json is damaged: not a plan"
    assert told[1].startswith("run it again with: harness test")
    assert len(told) == 2 * count


@pytest.mark.parametrize(
    ("host", "complaint"),
    [
        ("203.0.113.1", "'203.0.113.1' is not an address of this machine"),
        ("no host", "'no host' is not an address of this machine"),
        ("", "the address is empty; try 127.0.0.1"),
    ],
)
def test_a_wrong_host_is_not_blamed_on_the_port(
    host: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("serve", "--store", str(tmp_path), "--host", host, "--port", "0") == 254
    told = capsys.readouterr().err
    assert complaint in told
    assert "--port" not in told


def test_a_port_in_use_is_an_environment_that_wants_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert ended("serve", "--store", str(tmp_path), "--port", port) == 255
    assert "choose another --port" in capsys.readouterr().err


def test_reports_are_written_into_directories_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--out", "--junit"):
        target = tmp_path / "made" / "by" / "nobody"
        assert ended("report", "--store", str(tmp_path), option, str(target)) == 254
        assert "is not a directory; create it first" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("enters", "is_well", "said"),
    [(("--version",), True, "a user namespace is available"), (("--no-such",), False, "uidmap")],
)
def test_the_doctor_knows_that_a_user_namespace_is_enough(
    enters: tuple[str, ...], is_well: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(rootless, "_ENTER", enters)
    found = next(each for each in doctor.findings() if each.what == "root")
    assert found.is_well is is_well
    assert said in found.said
