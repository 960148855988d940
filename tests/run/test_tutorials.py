"""The tutorials are followed to the letter: their commands, in one shell, in their order."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REBALANCE = ROOT / "docs" / "tutorials" / "rebalance.md"
COMPACTION = ROOT / "docs" / "tutorials" / "compaction.md"
SHOP = ROOT / "docs" / "tutorials" / "shop.md"
_PORTS = ("1909", "1919")
"""The page's ports without their last digits, which are the nodes'."""

pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.timeout(600)]


def script(page: Path) -> str:
    """The page as one script: a program is saved where the page shows it, a command is run."""
    parts = ["set -eu"]
    blocks = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for language, text in blocks.findall(page.read_text()):
        if language == "sh":
            parts.append(text)
        else:
            name = text.removeprefix("# ").partition("\n")[0]
            assert name.endswith(".py"), f"a program on {page} that names no file"
            parts.append(f"cat > {name} <<'PROGRAM'\n{text}PROGRAM\n")
    return "\n".join(parts)


def free_ports() -> tuple[str, str]:
    """Two numbers that are ports on which nobody listens, once 1, 2 or 3 is appended."""
    for base in range(2001, 3200, 2):
        numbers = [int(f"{base + more}{node}") for more in (0, 1) for node in (1, 2, 3)]
        if all(map(_is_free, numbers)):
            return str(base), str(base + 1)
    raise AssertionError("no six ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def followed(page: Path, directory: Path) -> str:
    """What the commands of the page print. Whatever it leaves running is ended."""
    text = script(page)
    for written, free in zip(_PORTS, free_ports(), strict=True):
        text = text.replace(written, free)
    (directory / ".venv").symlink_to(ROOT / ".venv")
    with subprocess.Popen(
        ["bash"], cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as shell:  # fmt: skip
        try:
            output, _ = shell.communicate(text, timeout=500)
        finally:
            with suppress(ProcessLookupError):  # all of them have ended, as the page says
                os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, output
    return output


def owners(lines: list[str]) -> dict[str, frozenset[str]]:
    """By consumer, from lines such as `ann owns orders-0, orders-1`."""
    assert all(" owns " in line for line in lines), lines
    return {line.split()[0]: frozenset(re.findall(r"orders-\d", line)) for line in lines}


def test_the_rebalance_of_three_consumers_is_as_the_page_tells_it(tmp_path: Path) -> None:
    output = followed(REBALANCE, tmp_path)
    assert "30 orders are written" in output
    said = [line for line in output.splitlines() if re.match("(ann|bob|cat|dan) ", line)]
    assert len(said) == 3 + 2 + 4, output
    everything = {"orders-0", "orders-1", "orders-2"}
    three, two, four = owners(said[:3]), owners(said[3:5]), owners(said[5:])
    assert [len(each) for each in three.values()] == [1, 1, 1]
    assert sorted(len(each) for each in two.values()) == [1, 2]
    assert sorted(len(each) for each in four.values()) == [0, 1, 1, 1]
    for shared in (three, two, four):
        assert frozenset().union(*shared.values()) == everything
    assert "valid: " in output
    report = (tmp_path / "store" / "latest" / "report.html").read_text()
    assert "owns group 0" in report
    assert 's-killed"' in report


def test_the_compaction_of_one_key_is_as_the_page_tells_it(tmp_path: Path) -> None:
    output = followed(COMPACTION, tmp_path)
    assert "100 messages with the key sky" in output
    [left] = re.findall(r"messages left: (\d+)", output)
    assert 1 <= int(left) < 50
    assert "offset: 99 " in output
    assert "no record of sky is left" in output


def test_the_shop_with_and_without_transactions_is_as_the_page_tells_it(tmp_path: Path) -> None:
    output = followed(SHOP, tmp_path)
    lines = output.splitlines()
    for shown in blocks_of_text(SHOP)[:4]:  # up to the runs, of which the page shows a part
        assert_in_order(shown, lines)
    assert "state: Ongoing" in output
    without = output.index("invalid: ")
    assert "valid: 20 checkers found no anomaly" in output[:without]
    assert " oversold" in output[without:].partition("\n")[0]
    assert "the item is paid for and still in stock" in output[without:]
    assert "exit code 1" in lines
    report = (tmp_path / "store" / "latest" / "report.html").read_text()
    assert "still in stock" in report


def blocks_of_text(page: Path) -> list[list[str]]:
    """What the page says that one sees."""
    found = re.findall(r"^```text\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [each.splitlines() for each in found]


def assert_in_order(shown: list[str], lines: list[str]) -> None:
    """Whether the lines are among the others, one right after the other."""
    assert any(lines[at : at + len(shown)] == shown for at in range(len(lines))), (shown, lines)
