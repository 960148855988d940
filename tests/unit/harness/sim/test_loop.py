"""The loop's promises: virtual time, order, crashes without clean-up, pauses, clear ends."""

import asyncio
import gc
import os
import sys
from collections.abc import Iterator

import pytest

from harness.decisions import Decisions, Override
from harness.sim import loop as sim_loop
from harness.sim.disposal import dispose
from harness.sim.loop import DeadlineError, DeadlockError, LivelockError, SimLoop, SimulationError


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    loop = SimLoop()
    yield loop
    dispose(loop)


def test_an_hour_of_sleep_takes_no_time(loop: SimLoop) -> None:
    async def main() -> float:
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time() - began

    before = os.times().elapsed
    assert loop.run_main(main(), deadline_s=10_000) == 3600.0
    assert os.times().elapsed - before < 1.0


def test_timers_run_in_order_of_time_then_of_call(loop: SimLoop) -> None:
    seen: list[str] = []

    async def main() -> None:
        running = asyncio.get_running_loop()
        running.call_later(0.2, seen.append, "late")
        running.call_later(0.1, seen.append, "first")
        running.call_later(0.1, seen.append, "second")
        running.call_later(0.15, seen.append, "never").cancel()
        running.call_soon(seen.append, "at once")
        await asyncio.sleep(1)

    loop.run_main(main(), deadline_s=2)
    assert seen == ["at once", "first", "second", "late"]


def test_a_timer_never_fires_before_its_time(loop: SimLoop) -> None:
    async def main() -> tuple[float, float]:
        running = asyncio.get_running_loop()
        # The floating-point product with 10^9 is rounded down for this one.
        until = 9.070040961 + 0.162
        fired = running.create_future()
        running.call_at(until, lambda: fired.set_result(running.time()))
        return until, await fired

    until, fired_at = loop.run_main(main(), deadline_s=100)
    assert until <= fired_at < until + 1e-8


def test_waiting_for_the_rest_of_a_nanosecond_ends(loop: SimLoop) -> None:
    async def main() -> int:
        running, turns = asyncio.get_running_loop(), 0
        until = running.time() + 0.1 + 1e-12
        while running.time() < until:
            turns += 1
            await asyncio.sleep(until - running.time())
        return turns

    assert loop.run_main(main(), deadline_s=1) < 5


def test_many_cancelled_timers_do_not_pile_up(loop: SimLoop) -> None:
    async def main() -> int:
        for _ in range(20_000):
            async with asyncio.timeout(1000):
                await asyncio.sleep(0)
        return len(loop._heap)

    assert loop.run_main(main(), deadline_s=1) < 3000


def test_which_of_two_lives_goes_first_is_a_decision() -> None:
    def order(decisions: Decisions) -> list[str]:
        loop, seen = SimLoop(decisions), list[str]()

        async def note(name: str) -> None:
            for _ in range(3):
                await asyncio.sleep(1)
                seen.append(name)

        async def main() -> None:
            for name in ("a", "b"):
                _ = loop.create_task(note(name), context=loop.begin_life(name).context())
            await asyncio.sleep(5)

        loop.run_main(main(), deadline_s=10)
        dispose(loop)
        return seen

    orders = [order(Decisions(seed)) for seed in range(20)]
    assert orders == [order(Decisions(seed)) for seed in range(20)]
    assert len({tuple(each) for each in orders}) == 8
    bent = [
        Override("tie", name, second * 1_000_000_000, value)
        for second in (1, 2, 3)
        for name, value in (("a", 0.9), ("b", 0.1))
    ]
    assert order(Decisions(0, bent)) == ["b", "a"] * 3


class Diary:
    """A process that writes down what it does, its clean-up included."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def run(self) -> None:
        try:
            for number in range(100):
                self.lines.append(f"{number}")
                await asyncio.sleep(1)
        finally:
            self.lines.append("clean-up")
            await asyncio.sleep(0.5)
            self.lines.append("more clean-up")


def test_a_crash_runs_no_clean_up() -> None:
    loop, diary = SimLoop(), Diary()

    async def main() -> None:
        life = loop.begin_life("n1")
        _ = loop.create_task(diary.run(), context=life.context())
        await asyncio.sleep(2.5)
        loop.crash(life)
        del life
        gc.collect()
        await asyncio.sleep(100)
        gc.collect()

    loop.run_main(main(), deadline_s=200)
    assert diary.lines == ["0", "1", "2"]
    dispose(loop)


def test_a_process_that_crashes_itself_stops_at_its_next_await(loop: SimLoop) -> None:
    seen: list[str] = []

    async def main() -> None:
        life = loop.begin_life("n1")

        async def suicide() -> None:
            loop.call_soon(seen.append, "a callback behind the crash")
            loop.crash(life)
            seen.append("before the await")
            await asyncio.sleep(0)
            seen.append("after the await")

        _ = loop.create_task(suicide(), context=life.context())
        await asyncio.sleep(1)

    loop.run_main(main(), deadline_s=2)
    assert seen == ["before the await"]


def test_a_pause_holds_timers_until_the_resume(loop: SimLoop) -> None:
    seen: list[tuple[str, float]] = []

    async def note(name: str, delay: float) -> None:
        await asyncio.sleep(delay)
        seen.append((name, loop.time()))

    async def main() -> None:
        life = loop.begin_life("n1")
        for name, delay in (("before", 1.0), ("late", 4.0), ("early", 3.0), ("after", 9.0)):
            _ = loop.create_task(note(name, delay), context=life.context())
        await asyncio.sleep(2)
        loop.pause(life)
        await asyncio.sleep(5)
        loop.resume(life)
        await asyncio.sleep(5)

    loop.run_main(main(), deadline_s=20)
    assert seen == [("before", 1.0), ("early", 7.0), ("late", 7.0), ("after", 9.0)]


def test_a_process_that_is_paused_in_the_middle_goes_on_later_where_it_was(loop: SimLoop) -> None:
    seen: list[tuple[str, float]] = []

    async def main() -> None:
        life = loop.begin_life("n1")

        async def stop_here() -> None:
            loop.call_soon(lambda: seen.append(("behind", loop.time())))
            loop.pause(life)
            seen.append(("before", loop.time()))
            await asyncio.sleep(0)
            seen.append(("after", loop.time()))

        _ = loop.create_task(stop_here(), context=life.context())
        await asyncio.sleep(3)
        loop.resume(life)
        await asyncio.sleep(1)

    loop.run_main(main(), deadline_s=20)
    assert seen == [("before", 0.0), ("behind", 3.0), ("after", 3.0)]


def test_a_run_that_can_never_end_says_so(loop: SimLoop) -> None:
    async def main() -> None:
        life = loop.begin_life("n1")
        _ = loop.create_task(asyncio.sleep(1), context=life.context())
        loop.pause(life)
        await loop.create_future()

    with pytest.raises(DeadlineError, match=r"5\.0 s"):
        loop.run_main(main(), deadline_s=5)
    with pytest.raises(DeadlockError, match="paused for ever: n1/1"):
        loop.run_until_complete(main())


def test_a_process_that_does_not_let_time_pass_is_named(
    loop: SimLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim_loop, "CALLBACKS_PER_INSTANT_MAX", 1000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the very thing to be found
            await asyncio.sleep(0)

    async def main() -> None:
        _ = loop.create_task(spin(), context=loop.begin_life("n3").context())
        await asyncio.sleep(1)

    with pytest.raises(LivelockError, match="n3/1 ran 1000 callbacks"):
        loop.run_main(main(), deadline_s=5)


def test_threads_are_refused(loop: SimLoop) -> None:
    async def main() -> None:
        await asyncio.to_thread(os.getpid)

    with pytest.raises(SimulationError, match="wants a thread"):
        loop.run_main(main(), deadline_s=1)


def test_sets_of_tasks_have_the_same_order_in_every_loop() -> None:
    def order() -> list[str]:
        loop = SimLoop()

        async def main() -> list[str]:
            tasks = {loop.create_task(asyncio.sleep(1), name=f"{n}") for n in range(50)}
            made = [loop.create_future() for _ in range(50)]
            futures = set(made)
            done, _ = await asyncio.wait(tasks)
            return [task.get_name() for task in done] + [f"{made.index(f)}" for f in futures]

        told = loop.run_main(main(), deadline_s=2)
        dispose(loop)
        return told

    junk = [object() for _ in range(1000)]
    first = order()
    del junk
    assert first == order()


def test_what_nobody_takes_is_remembered(loop: SimLoop) -> None:
    async def main() -> None:
        loop.call_soon(lambda: [][0])
        await asyncio.sleep(1)

    loop.run_main(main(), deadline_s=2)
    [error] = loop.errors
    assert isinstance(error["exception"], IndexError)


def test_stubborn_clean_up_is_put_away_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    loop, seen = SimLoop(), list[str]()

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(1)
            finally:
                _ = loop.create_task(asyncio.sleep(1))
                await asyncio.sleep(1)
                seen.append("never")

    async def main() -> None:
        _ = loop.create_task(stubborn())
        await asyncio.sleep(0.5)

    loop.run_main(main(), deadline_s=2)
    dispose(loop)
    gc.collect()
    assert seen == []
    assert [str(each.message) for each in recwarn] == []


def test_clean_up_below_clean_up_is_put_away_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a run is interrupted: its steps await in `finally`, and so do those they wait for."""
    loop, complaints = SimLoop(), list[object]()
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)

    async def waits(depth: int) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            if depth:
                await waits(depth - 1)

    async def main() -> None:
        try:
            await waits(4)
        finally:
            await waits(4)

    def interrupt() -> None:
        raise KeyboardInterrupt

    loop.call_later(1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        loop.run_main(main(), deadline_s=200)
    dispose(loop)
    gc.collect()
    assert complaints == []


def test_an_onlooker_looks_right_after_what_runs_now_though_its_life_ends(loop: SimLoop) -> None:
    seen: list[str] = []
    life = loop.begin_life("n1")

    async def dying() -> None:
        loop.call_next(lambda: seen.append("looked"))
        loop.call_soon(seen.append, "never")
        seen.append("ran")
        loop.crash(life)

    async def main() -> None:
        task = loop.create_task(dying(), context=life.context())
        assert not task.done()
        await asyncio.sleep(1)

    loop.run_main(main(), deadline_s=2)
    assert seen == ["ran", "looked"]


def test_what_an_onlooker_raises_ends_the_run(loop: SimLoop) -> None:
    def look() -> None:
        raise SimulationError("seen")

    async def main() -> None:
        loop.call_next(look)
        await asyncio.sleep(1)

    with pytest.raises(SimulationError, match="seen"):
        loop.run_main(main(), deadline_s=2)


def test_an_onlooker_looks_after_an_event_of_the_world_too(loop: SimLoop) -> None:
    seen: list[str] = []

    def strike(_: object) -> None:
        loop.call_next(lambda: seen.append("looked"))
        seen.append("struck")

    async def main() -> None:
        loop.call_kernel(10, strike, None)
        loop.call_kernel(10, lambda _: seen.append("next"), None)
        await asyncio.sleep(1)

    loop.run_main(main(), deadline_s=2)
    assert seen == ["struck", "looked", "next"]
