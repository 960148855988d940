"""From `harness test --unsafe` to what somebody reads in the browser."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from reports.wording import short

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]


def test_the_page_of_a_guilty_run_shows_the_lost_value_its_offset_and_the_fault(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness", "test", "--on", "sim", "--unsafe", "--seed", "3",
         "--nemesis", "kill:leader,partition:leader", "--rate", "150", "--time-limit", "40",
         "--store", str(tmp_path), "--junit", str(tmp_path / "junit.xml"), "--quiet"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    run = (tmp_path / "latest").resolve()
    results = json.loads((run / "results.json").read_text())
    lost = next(each["anomalies"]["lost-write"] for each in results["checks"]
                if each["checker"] == "lost-write")  # fmt: skip
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto((run / "report.html").as_uri())
        told = page.locator("#lost-write-1").inner_text()
        proof = next(each for each in lost if each["because"] in told)
        assert short(proof["witness"]["value"]) in told
        assert f"offset {proof['witness']['offset']}" in told
        assert "partition" in told or "kill" in told
        story = page.locator("#cause-1").inner_text()
        assert "was elected at" in story
        assert "acknowledged records of queue" in story
        assert page.locator("#command").inner_text() == results["command"]
        assert (
            page.locator("p.lead").inner_text() == (run / "summary.txt").read_text().split("\n")[0]
        )
        assert page.locator("svg.strip[aria-label^='Messages']").first.is_visible()
        assert page.locator("svg.strip .reign").count() > 0
        browser.close()
    assert "<failure" in (tmp_path / "junit.xml").read_text()
