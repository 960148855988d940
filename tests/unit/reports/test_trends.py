"""The page over many runs: its words, its links, and that nothing of a run is markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reports.trends import (
    Course,
    Line,
    Point,
    Release,
    Run,
    Side,
    Trends,
    Unexercised,
    amount,
    render_trends,
    spread,
    write_trends,
)
from reports.trends_plots import drawn_trends

HOSTILE = "<script>alert(1)</script>"


def many_runs() -> Trends:
    """Two releases, of which the second is slower after faults and loses records."""
    worse = Line(
        subject="queue",
        about="slowest client to be served after a fault",
        unit="s",
        baseline=Side(40, 0.81, 0.74, 0.93),
        candidate=Side(38, 2.4, 1.9, 2.7),
        finding="worse",
        run=Run("queue kill/20261118T201310.023Z", "store/queue%20kill/report.html"),
    )
    new = Line(
        "lost-write", "runs with it", "share", Side(60, 0.0, 0.0, 0.06),
        Side(59, 1 / 59, 0.003, 0.09), "new", Run(f"queue {HOSTILE}"),
    )  # fmt: skip
    few = replace(worse, subject="txn", finding="few", baseline=Side(3, 0.5), candidate=Side(2, 9))
    same = replace(worse, subject="bank", finding="same", about="lag", unit="records")
    points = tuple(
        Point(release, 40, median, median / 2, median * 2)
        for release, median in (("3.9.0", 0.7), ("4.0.0", 0.81), ("4.1.0-rc1", 2.4))
    )
    return Trends(
        lake="lake",
        runs=138,
        releases=(
            Release("3.9.0", "2026-11-01", 20, 20, 0, 0),
            Release("4.0.0", "2026-11-08", 60, 58, 0, 2),
            Release("4.1.0-rc1", "2026-11-15", 58, 56, 1, 1),
        ),
        baseline="4.0.0",
        candidate="4.1.0-rc1",
        compared=(60, 57),
        left_out=(0, 1),
        lines=(worse, new, few, same),
        never=(
            Unexercised("nemeses", ("clock", "disk")),
            Unexercised("states", ("a fenced member",)),
        ),
        only_baseline=(Unexercised("workloads", ("bank",)),),
        courses=(
            Course("slowest client to be served after a fault", "s", "queue", points),
            Course("slowest client to be served after a fault", "s", "txn", points[1:]),
        ),
        warnings=(HOSTILE,),
    )


def test_it_says_what_regressed_and_what_that_rests_on() -> None:
    found = many_runs()
    assert found.headline == "1 regression from 4.0.0 to 4.1.0-rc1"
    text = render_trends(found)
    assert "4 figures of 60 and 57 runs were compared: 0 are better, 1 show no difference" in text
    assert "for 1 there are too few runs to say" in text
    assert "<b>2.4 s</b>" in text
    assert "1.9 to 2.7 s, 38 runs" in text
    assert 'href="store/queue%20kill/report.html"' in text
    assert "1 of the candidate are left out" in text


def test_a_regression_that_is_not_certain_is_not_called_one() -> None:
    found = replace(
        many_runs(), lines=[each for each in many_runs().lines if each.finding != "worse"]
    )
    assert found.headline == ("no certain regression, but new anomalies from 4.0.0 to 4.1.0-rc1")
    nothing = replace(found, lines=found.of("same"))
    assert nothing.headline == "no regression seen from 4.0.0 to 4.1.0-rc1"
    assert "57 runs show no regression." in render_trends(nothing)


def test_too_few_runs_are_not_called_no_regression() -> None:
    few = many_runs().of("few")
    said = "too few runs to say what changed from 4.0.0 to 4.1.0-rc1"
    assert replace(many_runs(), lines=few).headline == said
    assert replace(many_runs(), lines=[]).headline == said


def test_one_release_is_compared_with_nothing() -> None:
    found = Trends(lake="lake", runs=5, releases=many_runs().releases[:1])
    assert found.headline == "5 runs of one release: there is nothing to compare"
    text = render_trends(found)
    assert "<svg" not in text
    assert "regressed" not in text


def test_it_is_text_whatever_a_run_is_called() -> None:
    assert HOSTILE not in render_trends(many_runs())


def test_it_is_one_file_that_needs_nothing_else_and_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_trends(many_runs(), tmp_path / name / "trends.html")
    one, other = ((tmp_path / each / "trends.html").read_text() for each in ("one", "other"))
    assert one == other
    assert "src=" not in one
    assert "<link" not in one
    assert "2026-11-18T" not in one  # no date of the drawing


def test_the_plots_have_the_colours_of_the_page_and_every_release() -> None:
    svg = drawn_trends(many_runs())
    assert svg is not None
    assert "var(--fail-line)" in svg
    for name in ("3.9.0", "4.0.0", "4.1.0-rc1", "queue", "txn"):
        assert f">{name}<" in svg


def test_numbers_have_three_digits_that_count() -> None:
    assert amount(0.97312, "share") == "97.3 %"
    assert amount(1.2345, "s") == "1.23 s"
    assert amount(3001.0, "records") == "3,001 records"
    assert amount(0.00001, "share") == "0.001 %"
    assert amount(0.0000004, "share") == "4.0e-05 %"
    assert spread(Side(9, 0.5, 0.25, 0.75), "share") == "25 to 75 %"
    assert spread(Side(3, 0.5), "share") == ""
