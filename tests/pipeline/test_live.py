"""The live job follows a topic; a driver that is killed counts nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from pipeline.live.status import status_of
from tests.clients.speaker import TIMEOUT_S
from tests.pipeline.kafka_topics import QUIET, new_topic, send

pytestmark = [
    pytest.mark.spark,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(900),
]
ROOT = Path(__file__).parent.parent.parent


def harness(*words: str, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def publish(topic: str, bootstrap: str, home: Path, seed: int) -> None:
    words = ["test", "--on", "sim", "--nemesis", "kill", "--time-limit", "5", "--quiet"]
    words += ["--seed", str(seed), "--history-topic", f"{topic}@{bootstrap}"]
    with harness(*words, home=home) as run:
        assert run.wait() == 0


def live(topic: str, bootstrap: str, home: Path, *more: str) -> subprocess.Popen[str]:
    words = ["lake", "live", "--topic", topic, "--bootstrap", bootstrap, "--json"]
    return harness(*words, "--master", "local[2]", "--memory", "1g", *more, home=home)


def end_of(job: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """The last status of each run by a job that ends by itself, without its micro-batches."""
    with job:
        assert job.stdout is not None
        rows = [json.loads(line) for line in job.stdout]
        assert job.wait() == 0
    for row in rows:
        del row["batches"]
    return {row["run"]: row for row in rows}


def records(topic: str, bootstrap: str) -> list[tuple[str, str]]:
    """Keys and values, as another client reads them."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, **QUIET})
    consumer.assign([TopicPartition(topic, 0, 0)])
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)
    found: list[tuple[str, str]] = []
    while len(found) < end:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        assert message.error() is None
        key, value = message.key(), message.value()
        assert key is not None
        assert value is not None
        found.append((key.decode(), value.decode()))
    consumer.close()
    return found


def expected(topic: str, bootstrap: str) -> dict[str, dict[str, Any]]:
    by_run: dict[str, list[str]] = {}
    for key, value in records(topic, bootstrap):
        by_run.setdefault(key, []).append(value)
    found = {}
    for run, values in by_run.items():
        found[run] = json.loads(status_of(run, values).text())
        del found[run]["batches"]
    return found


def test_killed_drivers_change_no_figure(bootstrap: str, tmp_path: Path) -> None:
    topic = new_topic(bootstrap)
    publish(topic, bootstrap, tmp_path, seed=1)
    # Small micro-batches, so that a kill is in the middle of a run.
    more = ("--at-once", "700")
    for _ in range(2):
        job = live(topic, bootstrap, tmp_path, *more)
        assert job.stdout is not None
        lines = [json.loads(job.stdout.readline()) for _ in range(2)]
        assert all(line["rows"] > 0 for line in lines)
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        job.stdout.close()
        publish(topic, bootstrap, tmp_path, seed=2)
    # One more run, of which some rows never came.
    kept = [value for key, value in records(topic, bootstrap)[:200]]
    damaged = [text for number, text in enumerate(kept) if number not in (50, 51, 60)]
    send(bootstrap, topic, damaged, key="a run with gaps", partition=0)

    found = end_of(live(topic, bootstrap, tmp_path, "--once", *more))

    assert found == expected(topic, bootstrap)
    whole = [each for run, each in found.items() if run != "a run with gaps"]
    assert len(whole) == 3
    for each in whole:
        assert (each["missing"], each["verdict"], each["anomalies"]) == (0, "valid", [])
        assert each["unread"] == 0
    gaps = found["a run with gaps"]
    assert (gaps["missing"], gaps["anomalies"], gaps["verdict"]) == (3, None, None)
    # Nothing new: the same again, by a driver that reads only its state.
    assert end_of(live(topic, bootstrap, tmp_path, "--once", *more)) == found
