"""processed-offsets: a group's committed offset is the one after the last input that has an output.

Offsets and outputs of a transform are in one transaction, so neither may be there without the
other. The last answer about the committed offsets is compared for each input log, if it was asked
for after the last transform.
"""

from __future__ import annotations

import numpy as np

from checkers.checker import Checker, Need, of_facts
from checkers.clauses import LOSS, UNCOMMITTED, never
from checkers.columns import OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.groups import GroupRow, group_rows
from checkers.log.late_requests import row_of_late_request
from checkers.log.words import key_text, who
from harness.history import kinds


def processed_offsets(facts: LogFacts) -> Findings:
    columns = facts.columns
    processed = _processed(facts)
    transforms = np.flatnonzero(columns.has_f("transform") & (columns.outcome > 0))
    last_row = int(transforms[-1]) if transforms.size else -1
    answers: dict[tuple[str, int], tuple[GroupRow, int | None]] = {}
    for told in group_rows(facts, "committed"):
        if told.outcome == OK and told.call > last_row:
            for key, offset in told.offsets:
                answers[told.group, key] = told, offset
    found, looked_at = [], 0
    for (group, key), (told, offset) in sorted(answers.items(), key=lambda item: item[0]):
        row, last = processed.get(key, (-1, -1))
        looked_at += 1
        if (offset or 0) != last + 1:
            found.append(_finding(facts, group, key, told.row, offset, row, last))
    return Findings(
        found=tuple(found[:SHOWN]),
        count=len(found),
        looked_at=looked_at if processed else 0,
        nothing="nothing was transformed, or no committed offset was requested after that",
    )


def _processed(facts: LogFacts) -> dict[int, tuple[int, int]]:
    """By key: the transform that took effect with the last input, and that input's offset."""
    columns, elements = facts.columns, facts.columns.elements
    found: dict[int, tuple[int, int]] = {}
    for element in facts.of_kind(kinds.IN).tolist():
        row, key = columns.row_of(element), int(elements.key[element])
        offset = int(elements.offset[element])
        took_effect = columns.outcome[row] == OK or facts.committed[row] > 0
        if took_effect and offset > found.get(key, (-1, -1))[1]:
            found[key] = row, offset
    return found


def _finding(
    facts: LogFacts, group: str, key: int, read: int, offset: int | None, row: int, last: int
) -> Finding:
    columns = facts.columns
    rows = {columns.index_of(each) for each in (read, row) if each >= 0}
    done = (
        "no input was processed"
        if row < 0
        else f"{who(facts, row)} processed offset {last}, the last that has an output"
    )
    return Finding(
        type="processed-offsets",
        ops=tuple(sorted(rows)),
        because=(
            f"{who(facts, read)} found {'nothing' if offset is None else offset} committed for "
            f"group {group} on {key_text(facts, key)}, and {done}"
        ),
        witness={"group": group, "key": columns.key_of(key), "committed": offset, "last": last},
        row="" if row < 0 else row_of_late_request(facts, row),
    )


CHECKERS = (
    Checker(
        name="processed-offsets",
        about="A group's committed offset is not the one after the last input with an output.",
        look=of_facts(processed_offsets),
        rows=(
            UNCOMMITTED,
            *LOSS,
            never("Offsets that are committed in a transaction change together with its records."),
        ),
        needs=frozenset({Need.READ_BACK}),
        model="kafka",
    ),
)
