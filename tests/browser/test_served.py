"""The list of runs in a real browser: filtered, sorted, two of them side by side."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from harness.store.store import Store
from reports.server import Served
from tests.unit.reports.stored_runs import Rows, lost_write, stored

pytestmark = pytest.mark.browser


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    lost_write(tmp_path)
    rows = Rows()
    rows.send(0, 0, 1, 0)
    green = stored(tmp_path / "elsewhere", rows, {})
    (tmp_path / "append none").mkdir()
    green.rename(tmp_path / "append none" / "20261116T001531.000Z")
    store = Store(tmp_path)
    with Served(tmp_path, lambda: list(store.runs()), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_runs_are_filtered_sorted_opened_and_compared(address: str) -> None:
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        rows = page.locator("#runs tbody tr:visible")
        assert "append none" in rows.first.inner_text()
        sorted_by = page.locator("th[aria-sort]")
        assert (sorted_by.inner_text(), sorted_by.get_attribute("aria-sort")) == (
            "time (UTC)",
            "descending",
        )
        page.get_by_role("button", name="verdict").click()
        assert "invalid" in rows.first.inner_text()
        assert sorted_by.get_attribute("aria-sort") == "ascending"
        page.get_by_role("button", name="verdict").click()
        assert "invalid" not in rows.first.inner_text()
        assert sorted_by.get_attribute("aria-sort") == "descending"
        page.locator("input[name=words]").fill("lost")
        assert rows.count() == 1
        page.locator("input[name=words]").fill("")
        button = page.get_by_role("button", name="compare")
        for box in page.locator("input[name=run]").all():
            assert button.is_disabled()
            box.check()
        button.click()
        page.get_by_text("Texts that differ are marked.").wait_for()
        assert page.locator("thead a").all_inner_texts() == [
            "append none, 2026-11-16 00:15:31",
            "queue kill, 2026-11-16 00:15:30",
        ]
        assert "81.82 %" in page.locator("table").inner_text()
        assert page.locator("b.better, b.worse").count() > 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("link", name="2026-11-16 00:15:30").click()
        page.locator("#lost-write-1").wait_for()
        browser.close()
    assert complaints == []
