"""The reference tells of every decision that the simulator takes."""

from __future__ import annotations

import re
from pathlib import Path

from harness.sim.purposes import PURPOSES

ROOT = Path(__file__).parents[4]


def test_every_purpose_in_the_code_is_known() -> None:
    asked = re.compile(r"decisions\.(?:of|random)\(\s*\"(\w+)\"")
    drawing = (
        "swarm.py", "swarm_messages.py", "operations.py", "member_operations.py",
        "transaction_operations.py", "run.py",
    )  # fmt: skip
    found = {
        purpose
        for file in sorted((ROOT / "harness/sim").glob("*.py"))
        if file.name not in drawing
        for purpose in asked.findall(file.read_text())
    }
    assert found
    assert found <= set(PURPOSES)


def test_the_reference_tells_of_every_purpose() -> None:
    text = (ROOT / "docs/reference/schedule.md").read_text()
    table = text.split("## Overrides")[1]
    told = {word for line in table.splitlines() for word in re.findall(r"`(\w+)`", line)}
    disk = {purpose for purpose in PURPOSES if purpose.startswith("disk_")}
    assert set(PURPOSES) - disk <= told
    assert told & disk
