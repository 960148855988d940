"""The local place: own directories, commands, files; and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path, PurePosixPath

import pytest

from harness.cluster import CAPABILITIES
from harness.cluster.errors import NotInTimeError
from harness.cluster.local import LocalPlace
from harness.cluster.process_table import is_alive
from tests.unit.harness.cluster.places import DEAF, HAS_A_CHILD, SLEEPS, local_place, spawn

ROOT = Path(__file__).parents[4]

HOLDS_TWO_PROCESSES = """
import asyncio, sys
from pathlib import Path
from tests.unit.harness.cluster.places import DEAF, SLEEPS, local_place, spawn

async def main():
    async with local_place(Path(sys.argv[1])) as place:
        one, other = await spawn(place, DEAF), await spawn(place, SLEEPS)
        await one.pause()
        print(one.pid, other.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def everything_below(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))


async def test_each_node_has_a_home_of_its_own(tmp_path: Path) -> None:
    async with local_place(tmp_path, 3) as place:
        assert [host.node for host in place.hosts] == ["n1", "n2", "n3"]
        assert [host.home for host in place.hosts] == [
            PurePosixPath(tmp_path / node) for node in ("n1", "n2", "n3")
        ]
        shown = await place.run("n2", ["pwd"])
        assert (shown.exit_code, shown.stdout) == (0, f"{tmp_path / 'n2'}\n")
    assert everything_below(tmp_path) == ["n1", "n1/data", "n2", "n2/data", "n3", "n3/data"]


async def test_a_command_tells_its_exit_code_and_what_it_wrote(tmp_path: Path) -> None:
    script = "import sys; print('x' * 200_000); print('no', file=sys.stderr); sys.exit(3)"
    async with local_place(tmp_path) as place:
        done = await place.run("n1", [sys.executable, "-c", script])
        assert done.exit_code == 3
        assert done.stdout == "x" * 200_000 + "\n"
        assert done.stderr == "no\n"
    assert everything_below(tmp_path) == ["n1", "n1/data"]


async def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    script = f"import os; open('pid', 'w').write(str(os.getpid())); {SLEEPS}"
    async with local_place(tmp_path) as place:
        with pytest.raises(
            NotInTimeError, match=r"timed out after 0\.5 s waiting until .* ends on n1"
        ):
            await place.run("n1", [sys.executable, "-c", script], within_s=0.5)
        assert not is_alive(int((tmp_path / "n1/pid").read_text()))


async def test_files_go_to_a_node_and_come_back(tmp_path: Path) -> None:
    async with local_place(tmp_path / "place") as place:
        there = place.hosts[0].home / "deep/er/file"
        await place.put("n1", b"content", there)
        await place.get("n1", there, tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"content"


async def test_a_disk_that_never_answers_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.cluster.local._TRANSFER_WITHIN_S", 0.1)
    async with local_place(tmp_path) as place:
        # Who writes into a pipe that nobody reads waits, as for a broken disk.
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(
            NotInTimeError, match=r"timed out after 0.1 s waiting until n1 takes .*/pipe"
        ):
            await place.put("n1", b"content", PurePosixPath(pipe))
        await asyncio.to_thread(pipe.read_bytes)  # lets the thread go


async def test_what_a_node_lacks_is_told_in_a_sentence(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path)
    assert place.why_not("process") is None
    assert (place.clock is None) == (place.why_not("clock") is not None)
    for capability in CAPABILITIES:
        if capability not in ("process", "clock"):
            assert getattr(place, capability) is None
            assert len((place.why_not(capability) or "").split()) > 5


async def test_an_unknown_node_is_refused(tmp_path: Path) -> None:
    async with local_place(tmp_path) as place:
        with pytest.raises(ValueError, match="no node n2 here"):
            await place.run("n2", ["true"])


async def test_an_error_inside_ends_every_process(tmp_path: Path) -> None:
    pids: list[int] = []

    async def fail() -> None:
        async with local_place(tmp_path) as place:
            for script in (SLEEPS, DEAF, HAS_A_CHILD):
                pids.append((await spawn(place, script)).pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert [pid for pid in pids if is_alive(pid)] == []


async def test_a_cancelled_task_ends_every_process(tmp_path: Path) -> None:
    spawned: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with local_place(tmp_path) as place:
            spawned.set_result((await spawn(place, SLEEPS)).pid)
            await asyncio.sleep(600)

    task = asyncio.create_task(hold())
    pid = await spawned
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(pid)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_nothing_survives_ctrl_c_nor_a_kill_of_the_harness(
    tmp_path: Path, end: signal.Signals
) -> None:
    with subprocess.Popen(
        # Tests that run in the background have SIGINT ignored, and children inherit that.
        ["env", "--default-signal=INT", sys.executable, "-c", HOLDS_TWO_PROCESSES, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as harness:
        assert harness.stdout is not None
        pids = [int(pid) for pid in harness.stdout.readline().split()]
        assert [is_alive(pid) for pid in pids] == [True, True]
        harness.send_signal(end)
        harness.wait(20)
    deadline = time.monotonic() + 10
    while left := [pid for pid in pids if is_alive(pid)]:
        assert end is signal.SIGKILL, f"{left} outlived the place"
        assert time.monotonic() < deadline, f"{left} outlived the harness"
        time.sleep(0.005)
