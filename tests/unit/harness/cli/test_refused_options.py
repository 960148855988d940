"""What a run must not have is refused with 254 and a sentence, before anything is started."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from harness.cli import main


def refused(words: str, store: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `harness test` says; it makes no store."""
    with pytest.raises(SystemExit) as end:
        main(["test", *shlex.split(words), "--store", str(store)])
    said = capsys.readouterr().err
    assert end.value.code == 254, said
    assert "Traceback" not in said
    assert not store.exists()
    return said


@pytest.mark.parametrize(
    "said", ["abc", "1.5", "", "1_0", "0", "-1", "\N{SUPERSCRIPT TWO}", "9" * 99]
)
def test_min_insync_replicas_is_a_whole_number(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"--on sim --topic-config min.insync.replicas={said}"
    told = refused(words, tmp_path / "store", capsys)
    assert f"min.insync.replicas={said}: expected a whole number of at least 1" in told
    assert "try min.insync.replicas=2" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--producer-config request.required.acks=0", "try --acks"),
        ("--producer-config topic.request.required.acks=0", "try --acks"),
        ("--producer-config metadata.broker.list=x", "try --on"),
        ("--consumer-config metadata.broker.list=x", "try --on"),
        ("--producer-config message.send.max.retries=0", "try --retries"),
        ("--producer-config acks=0", "acks must be set by its own option"),
        ("--client aiokafka --producer-config acks=0", "try --acks"),
        ("--client aiokafka --producer-config enable_idempotence=false", "--enable-idempotence"),
        ("--client aiokafka --consumer-config isolation_level=x", "try --isolation-level"),
        ("--client aiokafka --producer-config bootstrap_servers=x", "try --on"),
        ("--client aiokafka --producer-config bootstrap.servers=x", "try --on"),
    ],
)
def test_what_the_verdict_goes_by_is_said_by_its_option(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(f"--on local {words}", tmp_path / "store", capsys)
    assert "must be set by its own option, which the verdict uses" in told
    assert said in told


@pytest.mark.parametrize(
    "name",
    [
        *("log.dirs", "log.dir", "metadata.log.dir", "node.id", "broker.id", "process.roles"),
        *("listeners", "advertised.listeners", "listener.security.protocol.map", "broker.rack"),
        *("controller.quorum.voters", "controller.listener.names", "inter.broker.listener.name"),
    ],
)
def test_what_the_harness_sets_itself_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(f"--on local --broker-config {name}=x", tmp_path / "store", capsys)
    assert f"--broker-config {name}: the harness sets this itself" in told


@pytest.mark.parametrize(
    "word",
    ["foo\nlog.dirs=/x", "foo=1\nlog.dirs=/x", "log.dirs:/x=1", "log.dirs /x=1", "\\u006c=1"],
)
def test_no_property_hides_another(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(f"--on local --broker-config '{word}'", tmp_path / "store", capsys)
    assert "is not of the form key=value" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--producer-config transactional.id=x", "give each client an id of its own"),
        (
            "--client aiokafka --producer-config transactional_id=x",
            "give each client an id of its own",
        ),
        ("--producer-config default.topic.config=x", "one by one"),
        ("--producer-config security.protocol=ssl", "listen for plaintext only"),
        ("--client aiokafka --consumer-config security_protocol=SSL", "listen for plaintext only"),
    ],
)
def test_clients_that_reach_no_broker_are_refused(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(f"--on local {words}", tmp_path / "store", capsys)


def test_exactly_once_is_refused_without_transactions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused("--on sim -w exactly-once --no-transactions", tmp_path / "store", capsys)
    assert "leave --no-transactions out" in told


def test_only_the_reference_broker_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused("--on sim --system kafka", tmp_path / "store", capsys)
    assert "--on sim runs the reference broker; leave --system out" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"root:x:0:0::/root:/bin/sh\n", "is no TOML"),
        (b"\xff\xfe\x00", "is no TOML"),
        (b"", "hosts names nobody"),
        (b"[[hosts]]\naddress = 7\n", "address is 7"),
    ],
)
def test_an_inventory_that_cannot_be_used_is_refused_at_once(
    text: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hosts.toml").write_bytes(text)
    words = f"--on ssh --inventory {tmp_path / 'hosts.toml'}"
    told = refused(words, tmp_path / "store", capsys)
    assert said in told
    assert "try" in told or "inventory.example.toml shows" in told


@pytest.mark.parametrize("on", ["sim", "local", "netns", "vagrant"])
def test_an_inventory_that_nobody_reads_is_refused(
    on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(f"--on {on} --inventory /dev/null", tmp_path / "store", capsys)
    assert "--inventory is for --on ssh" in told


@pytest.mark.parametrize("command", ["test", "suite"])
def test_a_store_that_cannot_be_made_is_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for store in ("/proc/foo", "/proc", "/dev/null/store"):
        with pytest.raises(SystemExit) as end:
            main([command, "--on", "sim", "--store", store])
        assert end.value.code == 254
        assert f"--store: {store}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nemesis", "said"),
    [
        (",", "empty nemesis name in ','; try kill,partition"),
        ("kill,,pause", "empty nemesis name in 'kill,,pause'"),
        ("", "unknown nemesis ''; choose one of"),
        (
            "none,kill",
            "none cannot be combined with others in 'none,kill'; leave out none or the others",
        ),
        ("kill,all", "all cannot be combined with others"),
        ("all,all", "all cannot be combined with others"),
        ("kill:@", "nothing follows : or @ in 'kill:@'; try kill"),
        ("kill:", "nothing follows : or @"),
        ("disk:full@", "nothing follows : or @ in 'disk:full@'; try disk:full"),
        ("disk:@n1", "nothing follows : or @"),
        ("kill, kill", "nemesis kill is given twice"),
    ],
)
def test_words_that_name_no_nemesis_are_refused(
    nemesis: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(f"--on sim --nemesis '{nemesis}'", tmp_path / "store", capsys)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("--producer-config linger_ms=abc", "linger_ms=abc: expected a whole number"),
        ("--producer-config linger.ms=1.5", "linger.ms=1.5: expected a whole number"),
        ("--consumer-config check_crcs=maybe", "check_crcs=maybe: expected true or false"),
    ],
)
def test_values_that_aiokafka_cannot_use_are_named(
    config: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(f"--on local --client aiokafka {config}", tmp_path / "store", capsys)
    assert said in told
    assert "operand" not in told


@pytest.mark.parametrize("nemesis", ["power", "disk:full", "partition", "kill,packet:loss"])
def test_what_a_place_lacks_is_refused_before_its_hosts_are_made(
    nemesis: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["test", "--on", "local", "--nemesis", nemesis, "--store", str(tmp_path / "store")])
    said = capsys.readouterr()
    assert end.value.code == 254
    assert "is unavailable with --on local: " in said.err
    assert "up:" not in said.out + said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--client aiokafka --protocol-versions random", "aiokafka chooses its versions itself"),
        ("--protocol-versions Produce=9", "try --client native, or --on sim"),
        ("--client native --protocol-versions oldest", "try newest, random, or Produce=9"),
        ("--client native --protocol-versions Produce=99", "versions 3 to 13 are known"),
        ("--client native --producer-config linger.ms=3", "has no property linger.ms"),
        ("--client native --consumer-config fetch.min.bytes=3", "try --client confluent"),
    ],
)
def test_what_the_native_client_does_not_know_is_refused(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(f"--on local {words}", tmp_path / "store", capsys)
