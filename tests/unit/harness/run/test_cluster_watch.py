"""Who led and who was in sync: what becomes a line, and what a silent node costs."""

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from harness.cluster.cluster_line import ClusterLine
from harness.cluster.local import LocalPlace
from harness.errors import EnvironmentFailure
from harness.run.cluster_watch import ClusterLog, agreed, watched
from harness.wire.cluster_state import LedPartition, QuorumLeader

KEY = "orders-3"


def led(leader: int | None, epoch: int, isr: tuple[int, ...] = (1, 2, 3)) -> LedPartition:
    return LedPartition(leader, epoch, (1, 2, 3), isr)


def log_of(out: io.StringIO) -> ClusterLog:
    times = iter(range(1000))
    return ClusterLog(out, lambda: next(times), lambda node_id: f"n{node_id}")


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_only_what_changed_becomes_a_line() -> None:
    out = io.StringIO()
    log = log_of(out)
    for told in (led(1, 0), led(1, 0), led(1, 0, (1, 2)), led(2, 1, (1, 2))):
        log.heard({"n1": {KEY: told}})
    found = [(each["leader"], each["epoch"], each["isr"]) for each in lines(out)]
    assert found == [
        ("n1", 0, ["n1", "n2", "n3"]),
        ("n1", 0, ["n1", "n2"]),
        ("n2", 1, ["n1", "n2"]),
    ]
    assert log.elections == 1


def test_a_node_that_is_behind_does_not_bring_the_past_back() -> None:
    out = io.StringIO()
    log = log_of(out)
    log.heard({"n1": {KEY: led(2, 1)}})
    log.heard({"n3": {KEY: led(1, 0)}})
    assert [each["epoch"] for each in lines(out)] == [1]


def test_a_time_without_leader_lies_between_two_leaders() -> None:
    out = io.StringIO()
    log = log_of(out)
    for told in (led(1, 0), led(None, 1), led(1, 2), led(None, 3), led(2, 4)):
        log.heard({"n1": {KEY: told}})
    assert [each["leader"] for each in lines(out)] == ["n1", None, "n1", None, "n2"]
    assert log.elections == 1


def test_of_those_who_know_the_latest_epoch_the_majority_is_believed() -> None:
    answers = {
        "n1": {KEY: led(1, 0)},
        "n2": {KEY: led(2, 1, (2,))},
        "n3": {KEY: led(2, 1, (2, 3))},
        "n4": {KEY: led(2, 1, (2, 3))},
    }
    assert agreed(answers) == {KEY: ("n3", led(2, 1, (2, 3)))}


def test_controllers_and_clocks_are_told_when_they_change() -> None:
    out = io.StringIO()
    log = log_of(out)
    for leader, epoch in ((1, 1), (1, 1), (3, 2), (1, 1)):
        log.heard_quorum("n2", QuorumLeader(leader, epoch))
    for offset_s in (0.0001, 1.5, 1.5, 0.0):
        log.measured("n2", offset_s)
    told = [each.get("controller", each.get("clock_offset_s")) for each in lines(out)]
    assert told == ["n1", "n3", 1.5, 0.0]


def metadata(correlation_id: int) -> bytes:
    partition = m.MetadataResponsePartition(
        partition_index=3, leader_id=2, leader_epoch=5, replica_nodes=[1, 2], isr_nodes=[2]
    )
    body = m.MetadataResponse(
        topics=[
            m.MetadataResponseTopic(name="orders", partitions=[partition]),
            m.MetadataResponseTopic(name="gone", error_code=3),
        ]
    )
    encoded = codec.encode_response(ApiKey.METADATA, 7, body)
    return b"".join(frames.response_frame(ApiKey.METADATA, 7, correlation_id, encoded))


def asked(
    answer: Callable[[int], bytes | None],
    questions: int,
    *,
    place: LocalPlace | None = None,
    pause_s: float = 0.0,
) -> tuple[list[Any], int]:
    """What a line makes of these answers, by number of the question, and how often it dialled."""
    dialled = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal dialled
        dialled += 1
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4))
                header, _ = frames.decode_request_header(await reader.readexactly(size))
                found = answer(header.correlation_id)
                if found is None:
                    await reader.read()
                    return
                writer.write(found)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def ask() -> list[Any]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        where = place or LocalPlace(Path("unused"))
        line = ClusterLine(where, *server.sockets[0].getsockname())
        found = []
        for _ in range(questions):
            found.append(await line.leaders(["orders", "gone"], 0.2))
            await asyncio.sleep(pause_s)
        await line.close()
        server.close()
        await server.wait_closed()
        return found

    return asyncio.run(ask()), dialled


def test_a_line_asks_again_and_again_on_one_connection() -> None:
    told, dialled = asked(metadata, 3)
    assert told == [{KEY: LedPartition(2, 5, (1, 2), (2,))}] * 3
    assert dialled == 1


def test_a_node_that_keeps_its_silence_is_not_asked_again_at_once() -> None:
    assert asked(lambda number: None, 3) == ([None] * 3, 1)


def test_an_answer_to_another_question_and_nonsense_are_no_answers() -> None:
    assert asked(lambda number: metadata(number + 1), 1)[0] == [None]
    assert asked(lambda number: b"\x7f\xff\xff\xff", 1)[0] == [None]
    assert asked(lambda number: b"\0\0\0\2ab", 1)[0] == [None]


@pytest.mark.parametrize("failure", [OSError("no descriptor"), EnvironmentFailure("no host")])
def test_a_line_that_could_not_be_opened_is_opened_later(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reluctant(LocalPlace):
        failures = 1

        async def ask(self, question: Callable[[], Any]) -> Any:
            if self.failures:
                self.failures -= 1
                raise failure
            return await super().ask(question)

    monkeypatch.setattr("harness.cluster.cluster_line._PAUSE_S", 0.01)
    told, dialled = asked(metadata, 3, place=Reluctant(Path("unused")), pause_s=0.02)
    assert told == [None, *[{KEY: LedPartition(2, 5, (1, 2), (2,))}] * 2]
    assert dialled == 1


@pytest.mark.parametrize("has_clock_faults", [False, True])
async def test_a_system_that_tells_nothing_is_watched_by_its_clocks_alone(
    tmp_path: Path, has_clock_faults: bool
) -> None:
    looked = asyncio.Event()

    class Clock:
        async def offset_s(self, node: str) -> float:
            looked.set()
            return 2.0

    cluster: Any = SimpleNamespace(system=SimpleNamespace(state=None), clock=Clock(), nodes=("n1",))
    async with watched(
        cluster, ["t"], tmp_path, lambda: 0, has_clock_faults=has_clock_faults
    ) as log:
        assert log is None
        if has_clock_faults:
            await asyncio.wait_for(looked.wait(), 5)
            await asyncio.sleep(0)
    told = tmp_path / "cluster.jsonl"
    assert told.exists() == has_clock_faults
    if has_clock_faults:
        assert json.loads(told.read_text()) == {"time_ns": 0, "node": "n1", "clock_offset_s": 2.0}
