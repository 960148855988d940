"""The page over many runs in a real browser: opened from a file, wide and on a phone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reports.trends import write_trends
from tests.browser.test_page import contrast, opened
from tests.unit.reports.test_trends import many_runs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def trends(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The run to open lies beside the page, as the lake beside the store."""
    root = tmp_path_factory.mktemp("many")
    report = root / "store" / "queue kill" / "report.html"
    report.parent.mkdir(parents=True)
    report.write_text("<!doctype html><html lang=en><title>the run</title><h1>the run</h1></html>")
    page = root / "trends.html"
    write_trends(many_runs(), page)
    return page.as_uri()


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(browser: Browser, trends: str, width: int, scheme: str) -> None:
    page = opened(browser, trends, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert contrast(ink, paper) > 7


def test_a_regression_leads_to_its_run(browser: Browser, trends: str) -> None:
    page = opened(browser, trends)
    assert page.locator("h1").inner_text() == "1 regression from 4.0.0 to 4.1.0-rc1"
    row = page.locator("#worse tbody tr")
    assert row.count() == 1
    assert "2.4 s" in row.inner_text()
    row.locator("a").click()
    assert page.locator("h1").inner_text() == "the run"


def test_what_says_nothing_is_folded_and_opens_by_keyboard(browser: Browser, trends: str) -> None:
    page = opened(browser, trends)
    row = page.locator("#few tbody tr")
    assert not row.is_visible()
    page.locator("#few summary").focus()
    page.keyboard.press("Enter")
    assert row.is_visible()
    assert "2 runs" in row.inner_text()


def test_long_names_break_instead_of_widening_the_page(browser: Browser, tmp_path: Path) -> None:
    found = many_runs()
    long = "release-" + "x" * 120
    first, *others = found.lines
    write_trends(
        replace(
            found,
            candidate=long,
            releases=[*found.releases[:2], replace(found.releases[2], name=long)],
            lines=[replace(first, run=replace(first.run, name="y" * 150)), *others],
        ),
        tmp_path / "trends.html",
    )
    page = opened(browser, (tmp_path / "trends.html").as_uri(), 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
