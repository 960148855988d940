"""The line of a run that goes on where nobody has a terminal."""

import io
from dataclasses import replace

from harness.run.watching import Plain, Snapshot, plain_line

NOW = Snapshot(
    elapsed_s=41,
    of_s=60,
    nodes={"n1": "up", "n2": "cut off"},
    ok=48212,
    fail=310,
    info=96,
    per_s=1200,
    p99_ms=41.2,
    unread=12,
    faults=("partition 3: [n2] receives from no host",),
)


def test_the_line_says_how_far_how_much_and_what_is_at_work() -> None:
    assert plain_line(NOW) == (
        "00:41 / 01:00  ok 48,212  fail 310  info 96    1,200 op/s   p99 41 ms   unread 12  "
        "fault: partition 3: [n2] receives from no host"
    )


def test_elections_are_told_where_anybody_looks() -> None:
    assert plain_line(replace(NOW, elections=4)).endswith("   elections 4")


def test_there_is_one_line_every_ten_seconds() -> None:
    out = io.StringIO()
    plain = Plain("queue", out)
    for second in range(1, 31):
        plain.tick(replace(NOW, elapsed_s=second))
    assert len(out.getvalue().splitlines()) == 3
