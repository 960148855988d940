"""Rules for every test: coroutines are run, and under STRICT_SKIPS a skip must be expected."""

import asyncio
import gc
import inspect
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.lane_order import in_shares

_EXPECTED = Path(__file__).with_name("expected_skips.txt")

# Hypothesis measures by the clock, so that a busy machine fails an example that took 200 ms.
# A test that hangs is ended by pytest-timeout.
settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")


def expected_skips(text: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def unexpected(skipped: list[str], expected: list[str]) -> list[str]:
    return [node for node in skipped if not any(node.startswith(name) for name in expected)]


class ComparedWatch:
    """Tells how many message-versions the codec's tests compared, also when several run them."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, value in report.user_properties:
                if name == "message_versions_compared":
                    assert isinstance(value, int)
                    self.count += value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.count:
            terminalreporter.write_line(
                f"codec: {self.count} message-versions compared byte for byte with kio"
            )


class SkipWatch:
    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not os.environ.get("STRICT_SKIPS") or hasattr(session.config, "workerinput"):
            return
        surprises = unexpected(self.skipped, expected_skips(_EXPECTED.read_text()))
        if surprises:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            reporter = session.config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                reporter.write_line(
                    "skipped, but not named in tests/expected_skips.txt: " + ", ".join(surprises),
                    red=True,
                )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipWatch(), "skip-watch")
    config.pluginmanager.register(ComparedWatch(), "compared-watch")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests for the workers of a lane (tests/lane_order.py), after they were shuffled."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers == 1:
        return
    together, early, rest = [], [], []
    for item in items:
        if "own_broker" in getattr(item, "fixturenames", ()):
            together.append(item)
        elif item.get_closest_marker("long") is not None:
            early.append(item)
        else:
            rest.append(item)
    items[:] = in_shares(together, early, rest, workers)


def pytest_collection_finish() -> None:
    """Leave the 370,000 objects of imported modules and collected tests to no later collection.

    They live as long as the process, and a full collection took half a second to look at them:
    a tenth of the time of the tests that simulate clusters.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine function runs on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True
