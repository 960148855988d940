"""Lanes of consumer groups in a real browser: by keyboard, on a phone, without script."""

import shutil
from itertools import combinations

import pytest
from playwright.sync_api import Browser

from reports.html import write_report
from tests.browser.test_page import contrast, opened
from tests.unit.reports.group_runs import busy_run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(busy_run(tmp_path_factory.mktemp("run"))).as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1440, "dark")])
def test_labels_fit_and_can_be_read(browser: Browser, report: str, width: int, scheme: str) -> None:
    page = opened(browser, report, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        page.locator("#run svg.whole text").first.evaluate(
            "text => text.getBoundingClientRect().height"
        )
        > 10
    )
    # As the browser measures them, not as we did: no label lies on another, or on a sign.
    boxes = page.evaluate(
        """[...document.querySelectorAll("#run .row text, #run .row g.tell")].map((each) => {
            const box = each.getBoundingClientRect();
            return [box.left, box.right, box.top, box.bottom, each.textContent]; })"""
    )
    texts = [box for box in boxes if box[4]]
    assert len(texts) > 20
    for one, other in combinations(texts, 2):
        apart = one[1] <= other[0] or other[1] <= one[0]
        assert apart or one[3] <= other[2] + 2 or other[3] <= one[2] + 2, (one, other)
    ink, bar = page.locator("#run .row text.on").first.evaluate(
        """text => [getComputedStyle(text).fill,
            getComputedStyle(text.closest(".row").querySelector(".o-owned")).fill]"""
    )
    assert contrast(ink, bar) > 7


def test_names_stay_in_view_while_a_phone_moves_the_timeline(browser: Browser, report: str) -> None:
    page = opened(browser, report, 360)
    name = page.locator("#run .names text", has_text="c3").first
    before = name.evaluate("text => text.getBoundingClientRect().left")
    page.locator("#run .pan").evaluate("pan => { pan.scrollLeft = 500; }")
    page.wait_for_function(
        "before => Math.abs([...document.querySelectorAll('#run .names text')]"
        ".find((text) => text.textContent === 'c3').getBoundingClientRect().left - before) < 2",
        arg=before,
    )


def test_a_lane_is_read_by_keyboard_and_by_a_tap(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    told = page.locator("#run .told")
    page.locator("#run .row[aria-label^='c3 of group alpha']").focus()
    assert "a member once" in told.inner_text()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert told.inner_text().startswith("c3 owns orders 16-23 since generation 1")
    page.keyboard.press("ArrowRight")
    assert told.inner_text().startswith("two owners of orders 16-17 in generation 1: c3 and c4")
    assert page.locator("#run .tell.lit").count() == 1
    page.keyboard.press("ArrowDown")
    assert told.inner_text().startswith("c4 of group alpha")
    page.locator("#run .s-refused").first.click()
    assert "had a commit refused at 16.10 s (STALE_MEMBER_EPOCH)" in told.inner_text()


def test_two_owners_are_red_in_both_lanes(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    guilty = page.locator("#run .row .o-guilty")
    assert guilty.count() == 2
    color = guilty.first.evaluate("bar => getComputedStyle(bar).fill")
    red, green, blue = (int(each) for each in color.strip("rgb()").split(","))
    assert red > 2 * max(green, blue)


def test_without_script_it_is_there_in_words(browser: Browser, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("#run .row").count() == 14
    page.locator("#run summary", has_text="Who owned what").click()
    page.locator("#run summary", has_text="c8 of group beta").click()
    words = page.locator("#run details").first.inner_text()
    assert "c8 lost its partitions at 16.50 s" in words
    context.close()
