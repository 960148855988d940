"""A run of a million operations: its page is made in time and in bounds, and answers at once."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from bench import checker_histories
from harness.history.parquet import write_parquet
from reports.lean_history import load_history
from tests.unit.reports.stored_runs import results

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

MAKE = """
import sys, time
from pathlib import Path
from reports.html import write_report
write_report(Path(sys.argv[1]))
memory = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(time.process_time(), memory)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Eight records to a send, up to 64 to a poll: 25 million of them, in a million operations."""
    write_parquet(checker_histories.log_history(19_000_000), tmp_path / "history.parquet")
    anomalies = list(_proofs(tmp_path))
    kinds = {f"kind-{number}": anomalies[number * 10 : number * 10 + 10] for number in range(3)}
    (tmp_path / "results.json").write_text(json.dumps(results(kinds)))
    (tmp_path / "plan.json").write_text('{"workload": "queue", "nemesis": "kill", "nodes": 5}')
    return tmp_path


def _proofs(directory: Path) -> Iterator[dict[str, Any]]:
    """Any sends will do: all over the run, so that nothing of it can be left unread."""
    history, dice = load_history(directory), Random(1)
    assert len(history) > 1_900_000
    found = 0
    while found < 30:
        op = history.op(dice.randrange(len(history)))
        if op.type == "ok" and op.f == "send":
            found += 1
            _, key, (offset, value) = op.value[0]
            witness = {"key": key, "offset": offset, "value": value}
            yield {"ops": [op.index], "because": f"{value} is gone", "severity": "error",
                   "contract": "", "witness": witness}  # fmt: skip


STEPS = {
    "filter": """() => {
        const words = document.querySelector("input[name=words]");
        words.value = "poll"; words.dispatchEvent(new Event("input", { bubbles: true }));
        document.body.offsetHeight; }""",
    "zoom": """() => {
        const strip = document.querySelector(".one svg.strip");
        strip.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
        document.body.offsetHeight; }""",
    "even": """() => {
        document.querySelector("button[data-even]").click();
        document.body.offsetHeight; }""",
}


def cpu_seconds(page_uri: str) -> dict[str, float]:
    """CPU time of the page's main thread, to load it and for each step a reader takes.

    Chromium counts it in ticks of that thread, so what else the machine does makes no difference.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent_s() -> float:
            told = session.send("Performance.getMetrics")["metrics"]
            return float({each["name"]: each["value"] for each in told}["TaskDuration"])

        page.goto(page_uri)
        found = {"load": spent_s()}
        for name, script in STEPS.items():
            before_s = spent_s()
            page.evaluate(script)
            found[name] = spent_s() - before_s
        browser.close()
    return found


def test_the_page_of_a_million_operations_is_made_in_bounds_and_answers_at_once(run: Path) -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(run)], cwd=root, check=True, capture_output=True, text=True
    )
    cpu_s, memory_kib = map(float, done.stdout.split())
    # Its own time, since others may be at work on the machine.
    assert cpu_s < 20
    assert memory_kib < 800 * 1024
    page_path = run / "report.html"
    assert page_path.stat().st_size < 5_000_000
    took_s = cpu_seconds(page_path.as_uri())
    assert 0 < took_s["load"] < 3, took_s
    for name in STEPS:
        assert 0 < took_s[name] < 1, took_s
