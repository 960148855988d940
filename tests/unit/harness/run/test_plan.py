"""A plan: to its file and back, and to the command that has it again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.cli.plan_options import plan_of
from harness.cli.testing import run_test
from harness.errors import EnvironmentFailure
from harness.run.judging import contract_of
from harness.run.plan import Plan
from harness.run.workload import deletes, why_not_judged
from harness.store.inside import DamagedError

WORDS = st.text("abcdefg.", min_size=1, max_size=5)
PLANS = st.builds(
    Plan,
    workload=st.sampled_from(["queue", "append"]),
    nemesis=st.sampled_from(["none", "kill", "partition,kill"]),
    time_limit_s=st.sampled_from([5.0, 30.0, 90.5]),
    nemesis_interval_s=st.sampled_from([10.0, 2.5]),
    rate=st.sampled_from([500.0, 0.0, 62.5]),
    concurrency=st.integers(1, 40),
    nodes=st.integers(3, 9),
    seed=st.integers(0, 2**32),
    on=st.sampled_from(["netns", "sim", "local"]),
    client=st.sampled_from(["confluent", "aiokafka"]),
    acks=st.just("all"),
    enable_idempotence=st.booleans(),
    retries=st.sampled_from([None, 3]),
    key_dist=st.sampled_from(["uniform", "hot:90"]),
    topic_config=st.dictionaries(WORDS, WORDS, max_size=2),
    producer_config=st.dictionaries(WORDS, WORDS, max_size=2),
    contract=st.sampled_from(["safe", "configured"]),
    unsafe_faults=st.booleans(),
)


@settings(deadline=None)
@example(Plan(nodes=3, concurrency=10))
@example(Plan(on="sim", invariants="off"))
@example(Plan(nodes=3, concurrency=6))
@given(PLANS)
def test_the_command_makes_the_same_plan_again(plan: Plan) -> None:
    words = shlex.split(plan.command())
    assert words[:2] == ["harness", "test"]
    context = run_test.make_context("test", words[2:])
    options = {
        name: value
        for name, value in context.params.items()
        if name not in ("test_count", "store_root", "as_json", "quiet", "no_color", "junit")
    }
    assert plan_of(options) == plan


@settings(deadline=None)
@given(PLANS)
def test_the_file_makes_the_same_plan_again(plan: Plan) -> None:
    import msgspec

    assert msgspec.json.decode(plan.text(), type=Plan) == plan


def test_what_is_no_plan_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"plan\.json does not exist"):
        Plan.load(tmp_path / "plan.json")
    for text, complaint in {
        '{"nodes": "many"}': "nodes",
        '{"workload": "nothing"}': "unknown workload 'nothing'",
        '{"time_limit_s": 1e300}': "time_limit_s is 1e",
        '{"topic_config": {"min.insync.replicas": "few"}}': "few",
        "": "truncated",
    }.items():
        (tmp_path / "plan.json").write_text(text)
        with pytest.raises(EnvironmentFailure, match=complaint):
            Plan.load(tmp_path / "plan.json")


FIRST_VERSION = {
    "workload": "queue",
    "nemesis": "kill",
    "nemesis_interval_s": 10.0,
    "time_limit_s": 60.0,
    "rate": 500.0,
    "concurrency": 10,
    "nodes": 5,
    "seed": 7,
    "on": "netns",
    "system": "reference",
    "client": "confluent",
    "acks": "1",
    "enable_idempotence": False,
    "retries": None,
    "isolation_level": "read_committed",
    "key_dist": "uniform",
    "replication_factor": 3,
    "topic_config": {},
    "broker_config": {},
    "producer_config": {},
    "consumer_config": {},
    "contract": "safe",
    "unsafe_faults": False,
    "inventory": None,
    "schedule": None,
}
"""What the first version wrote. A field of Plan that is not here belongs in _ADDED_LATER."""


def test_a_plan_of_the_first_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(FIRST_VERSION))
    wanted = Plan(nemesis="kill", seed=7, acks="1", enable_idempotence=False)
    assert Plan.load(path) == wanted
    path.write_text(wanted.text())
    assert Plan.load(path) == wanted


def test_a_plan_that_lost_a_field_is_damaged(tmp_path: Path) -> None:
    """By its default the run may be judged as safer than it was."""
    path = tmp_path / "plan.json"
    path.write_text("{}")
    with pytest.raises(DamagedError, match=r"missing fields: workload, nemesis, .*, acks, "):
        Plan.load(path)
    for name in FIRST_VERSION:
        path.write_text(
            json.dumps({key: FIRST_VERSION[key] for key in FIRST_VERSION if key != name})
        )
        with pytest.raises(DamagedError, match=f"not a plan: missing fields: {name}$"):
            Plan.load(path)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--concurrency", "0"], "not a number of clients"),
        (["--key-dist", "hot:101"], "choose one of uniform, zipf, hot:90"),
        (["--topic-config", "novalue"], "not of the form key=value"),
        (["-w", "nothing"], "unknown workload 'nothing'; choose one of queue"),
        (["--nemesis", "gremlin"], "gremlin"),
        (["--acks", "1", "--enable-idempotence"], "--enable-idempotence needs --acks all"),
        (["--retries", "0"], "needs retries"),
        (["--on", "ssh"], "--on ssh needs --inventory"),
        (["--time-limit", "0"], "0"),
        (["--time-limit", "nan"], "nan is not a finite number"),
        (["--time-limit", "inf"], "inf is not in the range"),
        (["--time-limit", "1e300"], "is not in the range"),
        (["--rate", "nan"], "nan is not a finite number"),
        (["--nemesis-interval", "nan"], "nan is not a finite number"),
        (["--nemesis-interval", "-inf"], "-inf is not in the range"),
        (["--seed", str(2**63)], "is not in the range"),
        (["--concurrency", "99999999999"], "more than 10,000 clients"),
        (["--safe", "--unsafe"], "--safe and --unsafe contradict each other"),
        (["--unsafe", "--acks", "all"], "--unsafe means --acks 1"),
        (["--safe", "--acks", "1"], "--safe is contradicted by --acks 1"),
        (["--safe", "--disable-idempotence"], "contradicted by --disable-idempotence"),
        (["--safe", "--topic-config", "unclean.leader.election.enable=true"], "enable=true"),
        (["--safe", "--broker-config", "unclean.leader.election.enable=TRUE"], "enable=true"),
        (["--nodes", "2", "--replication-factor", "3"], "needs as many nodes, and --nodes is 2"),
        (["--on", "local", "--producer-config", "foo.bar=1"], "No such configuration property"),
        (["--on", "local", "--consumer-config", "isolation=1"], "No such configuration property"),
        (
            shlex.split("--on local --client aiokafka --producer-config foo.bar=1"),
            "unexpected keyword argument 'foo_bar'",
        ),
        (["--on", "sim", "--producer-config", "linger.ms=5"], "for the clients of real runs"),
        (["--junit", "no/such/directory/junit.xml"], "no/such/directory is not a directory"),
        (["--on", "local", "--invariants", "off"], "--invariants off is for --on sim"),
        (["--key-dist", "hot:0"], "choose one of uniform"),
        (["--producer-config", "acks=1"], "acks must be set by its own option"),
        (["-w", "append", "--topic-config", "retention.ms=5000"], "retention.ms=5000 may delete"),
        (
            shlex.split(
                "-w register --topic-config cleanup.policy=compact,delete "
                "--topic-config retention.bytes=9"
            ),
            "register is judged by whole logs",
        ),
    ],
)
def test_bad_words_are_refused_before_anything_is_started(words: list[str], complaint: str) -> None:
    said = CliRunner().invoke(run_test, words)
    assert said.exit_code == 2  # click's own; the command line makes it 254
    assert complaint in said.output


def test_few_nodes_hold_as_many_replicas_as_they_can(tmp_path: Path) -> None:
    context = run_test.make_context("test", ["--nodes", "2", "--unsafe"])
    ours = ("test_count", "store_root", "as_json", "quiet", "no_color", "junit")
    plan = plan_of({name: said for name, said in context.params.items() if name not in ours})
    assert (plan.replication_factor, plan.acks, plan.enable_idempotence) == (2, "1", False)
    assert plan.is_unclean


def test_blanks_between_nemeses_reach_no_name() -> None:
    context = run_test.make_context("test", ["--nemesis", " kill, partition "])
    ours = ("test_count", "store_root", "as_json", "quiet", "no_color", "junit")
    plan = plan_of({name: said for name, said in context.params.items() if name not in ours})
    assert plan.nemesis == "kill,partition"
    assert plan.name == "queue kill+partition"


@pytest.mark.parametrize(
    ("plan", "setting"),
    [
        (Plan(), None),
        (Plan(topic_config={"retention.ms": "5000"}), "retention.ms=5000"),
        (Plan(topic_config={"retention.ms": "+5000"}), "retention.ms=+5000"),
        (Plan(topic_config={"retention.ms": "\N{SUPERSCRIPT TWO}"}), None),
        (Plan(topic_config={"retention.ms": "86400000"}), None),
        (Plan(topic_config={"retention.ms": "86400000"}, time_limit_s=86000), "retention.ms="),
        (Plan(topic_config={"retention.ms": "-1"}, broker_config={"log.retention.ms": "9"}), None),
        (Plan(broker_config={"log.retention.minutes": "59"}), "log.retention.minutes=59"),
        (Plan(broker_config={"log.retention.hours": "2"}), None),
        (Plan(topic_config={"retention.bytes": "1000"}), "retention.bytes=1000"),
        (Plan(broker_config={"log.cleanup.policy": "compact", "log.retention.ms": "9"}), None),
        (Plan(workload="register", topic_config={"retention.ms": "5000"}), None),
    ],
)
def test_settings_that_delete_records_while_the_run_goes_on(
    plan: Plan, setting: str | None
) -> None:
    assert (deletes(plan) or "").startswith(setting or "")
    assert (deletes(plan) is None) == (setting is None)
    assert contract_of(plan).retention == (setting is not None)
    assert why_not_judged(plan) is None, "a queue knows where logs begin"


@pytest.mark.parametrize(
    ("topic", "broker", "is_unclean"),
    [
        ("TRUE", None, True),
        (" True ", None, True),
        ("False", "true", False),
        (None, "tRuE", True),
        (None, "FALSE", False),
        (None, None, False),
    ],
)
def test_booleans_are_read_as_brokers_read_them(
    topic: str | None, broker: str | None, is_unclean: bool
) -> None:
    name = "unclean.leader.election.enable"
    plan = Plan(
        topic_config={} if topic is None else {name: topic},
        broker_config={} if broker is None else {name: broker},
    )
    assert plan.is_unclean is is_unclean
    assert contract_of(plan).unclean_leader_election is is_unclean
