"""The page of a run: what it says, that values stay text, and that the same run gives it again."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.store.inside import DamagedError
from harness.store.results import NotJudged
from reports.html import BYTES_MAX, render, report, write_report
from reports.material import load
from tests.unit.reports.stored_runs import (
    COMMAND,
    HOSTILE,
    Rows,
    cycle,
    lost_write,
    page_of,
    stored,
    with_figures,
)

GOLDEN = Path(__file__).parent / "golden"


class Outline(HTMLParser):
    """Elements and text of a page, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_guilty_page_shows_the_value_its_offset_the_fault_and_the_command(tmp_path: Path) -> None:
    seen = Outline(report(lost_write(tmp_path))).text
    assert "INVALID" in seen
    assert "invalid: 1 lost-write" in seen
    assert "104 is at offset 4 of orders-3" in seen
    assert "0.2 s into kill n1" in seen
    assert COMMAND in seen
    assert "With acks=all an acknowledged record is never lost." in seen
    assert "fenced <b>" in seen
    assert "Kafka's own form" in seen
    assert "too late" not in seen


def test_a_guilty_page_leads_with_the_causes(tmp_path: Path) -> None:
    text = report(lost_write(tmp_path))
    seen = Outline(text).text
    assert (
        "n1 led orders-3 until it was killed at 0.7 s; n2 was elected at 1.1 s with a shorter log: "
        "1 acknowledged record of orders-3 at offset 4 is gone, found by lost-write."
    ) in seen
    assert text.index('id="cause-1"') < text.index('id="lost-write"')
    assert '<a href="#lost-write-1">lost-write #1</a>' in text
    assert "kill n1, 0.7 s to 1.6 s" in seen
    assert "1 anomaly of 1 kind with 1 cause in 11 operations." in seen


def test_no_band_covers_the_label_of_another(tmp_path: Path) -> None:
    text = report(lost_write(tmp_path, strokes=4))
    strip = text[text.index('<svg class="strip"', text.index('class="one"')) :].partition("</svg>")[
        0
    ]
    assert strip.count('class="band"') == strip.count("mute fault") == 4
    assert strip.rindex('class="band"') < strip.index("mute fault")


def test_links_lead_somewhere_and_ids_are_unique(tmp_path: Path) -> None:
    outline = Outline(report(lost_write(tmp_path)))
    targets = {value[1:] for name, value in outline.attributes
               if name == "href" and value and value.startswith("#")}  # fmt: skip
    assert targets <= set(outline.ids)
    assert len(outline.ids) == len(set(outline.ids))


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first


def test_the_page_is_as_it_was_agreed_on(tmp_path: Path) -> None:
    """Without its plots, whose bytes are those of the drawing library's version.

    UPDATE_GOLDEN=1 writes it anew; look at it in a browser then.
    """
    shown = render(replace(page_of(load(lost_write(tmp_path))), plots=""))
    golden = GOLDEN / "lost-write.html"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Outline:
    """The page to which those with hostile values are compared."""
    return Outline(report(lost_write(tmp_path_factory.mktemp("calm"), ["calm"] * 10, "calm-1")))


@pytest.mark.parametrize("value", HOSTILE)
def test_values_are_text_whatever_they_hold(tmp_path: Path, calm: Outline, value: str) -> None:
    wild = Outline(report(lost_write(tmp_path, [value] * 10, f"{value}-1")))
    # A long label finds no room inside its bar, so there may be fewer texts, and nothing else.
    assert Counter(wild.tags) - Counter(calm.tags) == Counter()
    assert set(Counter(calm.tags) - Counter(wild.tags)) <= {"text"}
    assert {name for name, _ in wild.attributes} == {name for name, _ in calm.attributes}
    assert value.partition("\x00")[0] in wild.text


def test_nothing_is_fetched_from_anywhere(tmp_path: Path) -> None:
    outline = Outline(report(lost_write(tmp_path)))
    sources = [value for name, value in outline.attributes
               if name in ("src", "href", "xlink:href", "action") and value]  # fmt: skip
    assert all(source.startswith(("#", "data:")) for source in sources)
    assert not {"link", "iframe", "object", "base", "form-action"} & set(outline.tags)


def test_a_green_page_asks_first_whether_the_test_was_any_good(tmp_path: Path) -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    shown = report(stored(tmp_path, rows, {}))
    assert shown.index('id="quality"') < shown.index('id="checkers"')
    assert "Never reached: a fault · an operation that certainly failed" in shown


def test_a_plan_is_shown_in_words_and_not_in_the_programs_own(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    plan = json.loads((run / "plan.json").read_text())
    plan |= {"unsafe_faults": False, "plugin": [], "rate": 150.0, "broker_config": {"a.b": "true"}}
    (run / "plan.json").write_text(json.dumps(plan))
    shown = dict(page_of(load(run)).plan)
    assert (shown["unsafe_faults"], shown["rate"], shown["broker_config a.b"]) == (
        "no",
        "150",
        "true",
    )
    assert "plugin" not in shown


def test_a_cause_without_a_fault_does_not_stand_under_one(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    found = json.loads((run / "results.json").read_text())
    found["checks"][1] |= {
        "valid": False,
        "anomalies": {"G1c": [{"ops": [], "because": "x", "contract": "", "witness": {}}]},
    }
    (run / "results.json").write_text(json.dumps(found))
    seen = Outline(report(run)).text
    assert seen.index("kill n1, 0.7 s to 1.6 s") < seen.index("no fault in force")
    assert seen.index("no fault in force") < seen.index("G1c: x")


def test_a_cycle_is_a_ring_with_a_reason_on_each_edge(tmp_path: Path) -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    rows.send(10, 1, 2, 1)
    seen = Outline(report(stored(tmp_path, rows, {"G-single": [cycle()]}))).text
    assert "T1 < T2, because T1 appended 1 to x, which T2 read" in seen
    assert "A cycle of" not in seen
    assert "The cycle" in seen


def test_however_much_there_is_the_page_stays_small(tmp_path: Path) -> None:
    rows = Rows()
    long = "\N{SNOWMAN}" * 400
    ends = [rows.send(number, number % 40, f"{number}{long}", number) for number in range(3000)]
    anomalies = {
        f"kind-{kind}": [
            {"ops": [ends[kind * 60 + number]], "because": long * 8, "severity": "error",
             "contract": long, "witness": {"key": "orders-3", "offset": number, "value": long}}
            for number in range(50)
        ]
        for kind in range(40)
    }  # fmt: skip
    text = report(stored(tmp_path, rows, anomalies))
    assert len(text.encode()) <= BYTES_MAX
    assert "more of this kind are not shown" in text


def test_a_run_without_a_readable_history_still_has_a_page(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    for path in (run / "history.parquet").iterdir():
        path.unlink()
    assert "There is no history that could be read." in report(run)


def test_a_history_without_rows_still_has_a_page(tmp_path: Path) -> None:
    assert "VALID" in report(stored(tmp_path, Rows(), {}))


def test_another_process_draws_the_same_bytes(tmp_path: Path) -> None:
    """Plots included: nothing hangs on the order of sets, the date or the name of the host."""
    run = lost_write(tmp_path)
    code = (
        "import sys; from pathlib import Path; from reports.html import report; "
        "sys.stdout.write(report(Path(sys.argv[1])))"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code, str(run)],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(Path(__file__).parents[3]),
                "TZ": zone,
            },
            check=True,
            capture_output=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(drawn) == 1
    assert next(iter(drawn)).decode() == report(run)


@pytest.mark.parametrize(("allowed", "said"), [(["lost-write"], "allowed"), ([], "impossible to")])
def test_what_is_not_forbidden_is_named_and_marked(
    tmp_path: Path, allowed: list[str], said: str
) -> None:
    run = lost_write(tmp_path)
    told = json.loads((run / "results.json").read_text())
    check = told["checks"][0]
    check["anomalies"]["lost-write"][0]["severity"] = "info"
    check |= {"allowed": allowed, "valid": "unknown"}
    told["valid"] = "unknown"
    (run / "results.json").write_text(json.dumps(told))
    text = report(run)
    heading = text[text.index('<h3 id="lost-write">') :].partition("</h3>")[0]
    assert f'<span class="meta">{said}' in heading


def test_the_page_says_what_was_not_judged_and_why(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    material = load(run)
    need = "everything was read back"
    skipped = (NotJudged("unseen", need), NotJudged("lost-write", need), NotJudged("lag", "x"))
    lacking = replace(material, results=replace(material.results, not_judged=skipped))
    seen = Outline(render(page_of(lacking))).text
    said = f"unseen, lost-write: they may judge only a run in which {need}"
    assert seen.count(said) == 2
    assert "Not judged: lag: it may judge only a run in which x." in seen
    assert "ot judged" not in Outline(render(page_of(material))).text


@pytest.mark.parametrize("sampled", [False, True])
def test_the_page_shows_what_was_on_the_wire(tmp_path: Path, *, sampled: bool) -> None:
    traffic = {
        "linger_ms": 20, "batch_bytes": 8192, "codec": "zstd", "requests_in_flight_max": 5,
        "batches_in_flight_max": 5, "records_in_flight_max": 1_111, "batches": 321,
        "records": 6_420, "batch_records": {"mean": 20.0, "p50": 17, "p99": 243, "most": 256},
        "batch_bytes_mean": 1_000.0, "batch_bytes_max": 8_169, "sampled": sampled,
    }  # fmt: skip
    seen = Outline(report(with_figures(lost_write(tmp_path), traffic={"c1": traffic}))).text
    assert "On the wire: 321 batches of up to 256 records, 20.0 on average" in seen
    for cell in ("20 ms, 8,192 bytes, zstd", "8,169 bytes", "1,111", "243"):
        assert cell in seen
    assert ("so it may have been more" in seen) is sampled


def test_figures_that_make_no_sense_are_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(DamagedError):
        report(with_figures(lost_write(tmp_path), traffic={"c1": {"batches": "many"}}))
