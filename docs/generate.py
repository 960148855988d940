"""Writes the tables of the reference that come from declarations in the code.

    .venv/bin/python docs/generate.py           rewrites the files
    .venv/bin/python docs/generate.py --check   exits with 1 if a file is not up to date

A table stands between two comment lines, `<!-- generated: NAME -->` and `<!-- end -->`. The text
`promise-ANOMALY` is the sentence of the safe contract about that anomaly.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from checkers.contract import Contract, Promise  # noqa: E402
from checkers.registry import all_checkers, rows  # noqa: E402
from pipeline.schema import RUN, VERSION, Table  # noqa: E402
from pipeline.schema import TABLES as LAKE  # noqa: E402
from tests.differential.intended import INTENDED  # noqa: E402
from tests.differential.judge import Kind  # noqa: E402

_MARKED = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def contract_rows() -> Iterator[str]:
    yield "| anomaly | configuration | promise | the sentence |"
    yield "|---|---|---|---|"
    for anomaly, clauses in sorted(rows().items()):
        for row in clauses:
            yield f"| `{anomaly}` | {row.when} | {row.promise.value} | {row.sentence} |"


def checker_rows() -> Iterator[str]:
    yield "| checker | in one sentence | needs | stands early |"
    yield "|---|---|---|---|"
    for name, checker in all_checkers().items():
        needs = "; ".join(sorted(need.value for need in checker.needs))
        yield f"| `{name}` | {checker.about} | {needs} | {'yes' if checker.stands else ''} |"


def promise(anomaly: str) -> Iterator[str]:
    ruling = Contract.safe().ruling(anomaly)
    effect = "Breaks the promise" if ruling.promise is Promise.NEVER else "Allowed"
    yield f'{effect} ([contract](contract.md)): "{ruling.sentence}"'


def differences(kind: Kind) -> Iterator[str]:
    """One row per reason: where the difference shows, and why it is wanted."""
    places: dict[tuple[str, str], set[str]] = {}
    for entry in INTENDED:
        if entry.kind is kind:
            places.setdefault((entry.reason, entry.area), set()).add(entry.subject)
    yield "| where | what is different, and why |"
    yield "|---|---|"
    for (reason, area), subjects in places.items():
        shown = ", ".join(f"`{each}`" for each in sorted(subjects))
        where = "every API" if area == "*" else area.replace("_", " ")
        yield f"| {where}: {shown} | {reason} |"


def lake_version() -> Iterator[str]:
    yield f"The version of the schema is {VERSION}."


def lake_columns(table: Table) -> Iterator[str]:
    yield table.about
    yield ""
    yield "| column | type | |"
    yield "|---|---|---|"
    for column in (RUN, *table.columns):
        need = "" if column.nullable else ", not null"
        yield f"| `{column.name}` | {column.type}{need} | {column.about} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "contract": contract_rows,
    "checkers": checker_rows,
    **{f"promise-{anomaly}": partial(promise, anomaly) for anomaly in rows()},
    "lake-version": lake_version,
    **{f"lake-{table.name}": partial(lake_columns, table) for table in LAKE.values()},
    **{f"differences-{kind.name.lower()}": partial(differences, kind) for kind in Kind},
}


def generated(text: str) -> str:
    def table(match: re.Match[str]) -> str:
        return match[1] + "".join(f"{line}\n" for line in TABLES[match[2]]()) + match[4]

    return _MARKED.sub(table, text)


def stale() -> dict[Path, str]:
    """Files whose tables are not what the declarations say, with what they should hold."""
    found = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text()
        wanted = generated(text)
        if wanted != text:
            found[path] = wanted
    return found


def main() -> int:
    old = stale()
    for path, text in old.items():
        print(f"{'stale' if '--check' in sys.argv else 'written'}: {path.relative_to(ROOT)}")
        if "--check" not in sys.argv:
            path.write_text(text)
    return 1 if old and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
