"""The page in a real browser: opened from a file, in the dark, on a phone, by keyboard."""

import json
import shutil
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from reports.html import write_report
from tests.unit.reports.stored_runs import (
    COMMAND,
    HOSTILE,
    KEY,
    Rows,
    cycle,
    lost_write,
    stored,
    write_cluster,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(lost_write(tmp_path_factory.mktemp("run"))).as_uri()


def opened(browser: Browser, uri: str, width: int = 1280, scheme: str = "light") -> Page:
    """The page; whatever it complains about, or fetches, fails the test that asks for it."""
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            complaints.append(request.url)
            if not request.url.startswith(("file:", "data:"))
            else None
        ),
    )
    page.goto(uri)
    assert complaints == []
    return page


def test_it_tells_what_was_lost_where_under_which_fault_and_how_to_see_it_again(
    browser: Browser, report: str
) -> None:
    page = opened(browser, report)
    assert page.locator("h1").inner_text().startswith("✗ INVALID")
    proof = page.locator("#lost-write-1")
    assert "104 is at offset 4 of orders-3" in proof.inner_text()
    assert "into kill n1" in proof.inner_text()
    assert page.locator("#command").inner_text() == COMMAND
    assert page.locator("table.off .gap").first.is_visible()
    assert "none" in page.locator("table.off").inner_text()
    assert "n2 was elected at 1.1 s" in page.locator("#cause-1").inner_text()


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(browser: Browser, report: str, width: int, scheme: str) -> None:
    page = opened(browser, report, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert contrast(ink, paper) > 7
    assert (luminance(paper) < 0.2) == (scheme == "dark")


def test_a_phone_shows_the_part_of_a_timeline_that_it_is_about(
    browser: Browser, tmp_path: Path
) -> None:
    """An election that comes late in the run."""
    run = lost_write(tmp_path)
    rows = [json.loads(line) for line in (run / "cluster.jsonl").read_text().splitlines()]
    for row in rows:
        row["time_ns"] += (row["time_ns"] > 1_000_000_000) * 1_700_000_000
    (run / "cluster.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = write_report(run).as_uri()
    page = opened(browser, report, 360)
    line = page.locator("#run svg.strip .now").first
    assert 0 < line.evaluate("line => line.getBoundingClientRect().left") < 360


def test_a_label_at_the_right_edge_stands_on_the_left_of_its_bar(
    browser: Browser, tmp_path: Path
) -> None:
    """Also when the script draws it at another scale."""
    rows = Rows()
    for number in range(4):
        rows.send(400 * number, 0, 9 << 32 | number, number)
    last = rows.send(2400, 1, 9 << 32 | 4, 4)
    anomaly = {"ops": [last], "because": "it is gone", "severity": "error", "contract": "",
               "witness": {"key": KEY, "value": 9 << 32 | 4, "offset": 4}}  # fmt: skip
    run = stored(tmp_path, rows, {"lost-write": [anomaly]})
    write_cluster(run)
    page = opened(browser, write_report(run).as_uri())
    strip = page.locator(".one svg.strip").first
    strip.focus()
    label = strip.locator("text.beside")
    for key in ("0", "+", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        assert label.evaluate("label => label.getBBox().x + label.getBBox().width") <= 1061
    assert label.get_attribute("text-anchor") == "end"


def test_hot_stands_beside_its_bar(browser: Browser, tmp_path: Path) -> None:
    rows = Rows()
    for number in range(8):
        rows.send(10 * number, 0, number, number, "busy-0")
    for key in ("busy-1", "busy-2"):  # a partition is hot among those of its topic
        rows.send(100, 1, key, 0, key)
    page = opened(browser, write_report(stored(tmp_path, rows, {})).as_uri())
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        bar, word = (
            page.locator(f"tr:has(.hot) .{name}").bounding_box() for name in ("bar", "hot")
        )
        assert bar is not None
        assert word is not None
        assert bar["x"] + bar["width"] <= word["x"]
        assert abs(bar["y"] - word["y"]) < 20


def luminance(color: str) -> float:
    parts = [float(each) / 255 for each in color.strip("rgb()").split(",")[:3]]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_strip_zooms_by_keyboard_and_comes_back(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    strip = page.locator(".one svg.strip").first
    guilty = strip.locator("rect.b-guilty").first
    width = guilty.get_attribute("width")
    strip.focus()
    for _ in range(5):
        page.keyboard.press("+")
    wider = guilty.get_attribute("width")
    assert width is not None
    assert wider is not None
    assert float(wider) > 1.5 * float(width)
    page.keyboard.press("0")
    back = guilty.get_attribute("width")
    assert back is not None
    assert abs(float(back) - float(width)) < 0.5


def test_the_strip_zooms_by_wheel_once_it_is_chosen(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    strip = page.locator(".one svg.strip").first
    strip.scroll_into_view_if_needed()
    before = strip.locator(".ticks").inner_html()
    strip.hover()
    strip.focus()
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "before => document.querySelector('.one svg.strip .ticks').innerHTML !== before", arg=before
    )


def test_even_time_gives_what_is_close_room_and_real_time_comes_back(
    browser: Browser, report: str
) -> None:
    page = opened(browser, report)
    strip = page.locator(".one svg.strip").first
    sends = strip.locator("rect.b-ok")
    before = [sends.nth(at).get_attribute("width") for at in range(sends.count())]
    button = page.locator("button[data-even]").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    even = [float(sends.nth(at).get_attribute("width") or 0) for at in range(sends.count())]
    # Four milliseconds among three seconds: two pixels, and now as much as anything else.
    assert all(float(width or 0) < 4 for width in before)
    assert min(even) > 20
    ticks = strip.locator(".ticks text").all_text_contents()
    assert len(ticks) > 3
    assert ticks == sorted(ticks)
    # Room enough, at last, for the words of a bar that had none.
    strip.focus()
    for key in ["+"] * 3 + ["ArrowLeft"] * 4:
        page.keyboard.press(key)
    assert "103 @3" in (strip.locator("text.fits:visible").first.text_content() or "")
    strip.focus()
    page.keyboard.press("e")
    after = [float(sends.nth(at).get_attribute("width") or 0) for at in range(sends.count())]
    assert after == pytest.approx([float(width or 0) for width in before], abs=0.5)


def test_labels_of_faults_do_not_lie_on_each_other_at_any_scale(
    browser: Browser, tmp_path: Path
) -> None:
    run = lost_write(tmp_path, strokes=6)
    page = opened(browser, write_report(run).as_uri())
    strip = page.locator(".one svg.strip").first
    strip.focus()
    for key in ("0", "+", "+", "+", "ArrowLeft", "-", "-", "-", "-"):
        page.keyboard.press(key)
        boxes = strip.evaluate(
            """svg => [...svg.querySelectorAll("text.fault")]
                .filter((label) => label.style.display !== "none")
                .map((label) => { const box = label.getBBox(); return [box.x, box.x + box.width, Number(label.getAttribute("y"))]; })"""  # noqa: E501
        )
        assert boxes
        for one, other in combinations(boxes, 2):
            assert one[2] != other[2] or one[1] <= other[0] or other[1] <= one[0], key


def test_the_history_is_filtered_as_one_types(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    rows = page.locator("#calls tbody tr:visible")
    everything = rows.count()
    page.keyboard.press("/")
    page.keyboard.type("REFUSED")
    assert rows.count() == 1
    page.locator("input[name=words]").fill("")
    page.locator("select[data-column='4']").select_option("poll")
    assert rows.count() == 1
    page.locator("select[data-column='4']").select_option("")
    page.locator("input[name=from]").fill("0.85")
    page.locator("input[name=to]").fill("1.1")
    assert rows.count() == 2
    assert "104" in rows.first.inner_text()
    page.locator("input[name=from]").fill("")
    page.locator("input[name=to]").fill("")
    page.locator("input[name=guilty]").check()
    assert rows.count() == 2
    page.locator("input[name=guilty]").uncheck()
    assert rows.count() == everything


def test_a_key_leads_from_anomaly_to_anomaly(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "lost-write-1"


def test_a_proof_leads_to_its_place_in_the_history(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    link = page.locator(".one a[href^='#op-']").first
    target = (link.get_attribute("href") or "").removeprefix("#")
    link.click()
    assert page.evaluate("location.hash") == f"#{target}"
    assert page.locator(f"[id='{target}']").is_visible()


def test_an_edge_of_a_cycle_shows_its_reason_and_its_operations(
    browser: Browser, tmp_path: Path
) -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    rows.send(10, 1, 2, 1)
    page = opened(browser, write_report(stored(tmp_path, rows, {"G-single": [cycle()]})).as_uri())
    page.locator(".edge").first.focus()
    assert page.locator("#G-single-1-1.warn").count() == 1
    assert page.locator(".strip rect.lit").count() == 2
    page.locator("#G-single-1").focus()
    assert page.locator(".strip rect.lit").count() == 0


def test_without_script_everything_is_there(browser: Browser, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("#lost-write-1").is_visible()
    assert page.locator(".one svg.strip").first.is_visible()
    assert page.locator("#calls tbody tr").first.is_visible()
    assert page.locator("button:visible").count() == 0
    context.close()


def test_it_prints_on_paper(browser: Browser, report: str) -> None:
    page = opened(browser, report)
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#lost-write-1").is_visible()
    assert page.pdf()[:4] == b"%PDF"


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_comes_to_life(browser: Browser, tmp_path: Path, value: str) -> None:
    uri = write_report(lost_write(tmp_path, [value] * 10, f"{value}-1")).as_uri()
    page = opened(browser, uri)
    assert page.evaluate("window.hacked") is None
    page.keyboard.press("j")
    page.locator("input[name=words]").fill("send")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b:has-text('$x')").count() == 0
