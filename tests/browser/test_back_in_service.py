"""The dots of clients that are back in service, on a phone and on a desk."""

import shutil

import pytest
from playwright.sync_api import Browser

from reports.html import write_report
from tests.unit.reports.stored_runs import lost_write, with_figures

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    waits = {"c1": 0.25, "c2": 1.5, "c3": None, "c4": 0.1}
    told = [
        {"fault": name, "label": label, "ended_ms": 1600.0, "clients": waits}
        for name, label in (("kill 1", "kill n1"), ("partition 2", "partition n1 n2 | n3 n4 n5"))
    ]
    run = with_figures(lost_write(tmp_path_factory.mktemp("run")), served_again=told)
    return write_report(run).as_uri()


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_dot_can_be_seen(browser: Browser, report: str, width: int, scheme: str) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page.goto(report)
    table = page.locator("table.served")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lines = [dots.bounding_box() for dots in table.locator("svg.dots").all()]
    assert len(lines) == 2
    for line in lines:
        assert line is not None
        assert line["width"] > 240
        assert line["x"] + line["width"] <= width, "without scrolling"
    for circle in table.locator("svg.dots circle").all():
        box = circle.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 6
    axis, line = table.locator(".axis").bounding_box(), lines[0]
    assert axis is not None
    assert line is not None
    assert abs(axis["x"] + axis["width"] - line["x"] - line["width"]) < 16, "the axis ends there"
    assert table.locator("td.never").all_inner_texts() == ["c3", "c3"]
    page.close()
