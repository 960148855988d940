"""lost-update: several transactions read one version of a key, and each then wrote the key."""

from __future__ import annotations

from typing import Any

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.columns import Columns
from checkers.findings import SHOWN, Finding
from checkers.kernels.registers import updates
from checkers.transactions.explain import ValueOf


def contended(
    columns: Columns, op: Ints32, element: Ints64, version: Ints32
) -> dict[tuple[int, int], list[int]]:
    """By key and version, the operations that read it and wrote the key then, where they are
    several; of the first few versions. `version`: what each read saw, -1 the initial state;
    `element`: where the read is."""
    begin, end = columns.spans
    elements = columns.elements
    mine = np.flatnonzero(updates(op, element, begin, end, elements.kind, elements.key))
    op, version, key = op[mine], version[mine], elements.key[element[mine]]
    order = np.lexsort((op, version, key))
    same = (key[order][1:] == key[order][:-1]) & (version[order][1:] == version[order][:-1])
    candidate = np.zeros(order.size, np.bool_)
    candidate[1:] |= same
    candidate[:-1] |= same
    groups: dict[tuple[int, int], list[int]] = {}
    for read in order[candidate].tolist():
        if len(groups) > SHOWN:
            break
        groups.setdefault((int(key[read]), int(version[read])), []).append(int(op[read]))
    several = ((place, list(dict.fromkeys(rows))) for place, rows in groups.items())
    return {place: rows for place, rows in several if len(rows) > 1}


def lost_updates(
    columns: Columns, op: Ints32, element: Ints64, version: Ints32, value_of: ValueOf
) -> list[Finding]:
    found = []
    for (name_id, number), rows in contended(columns, op, element, version).items():
        value: Any = None if number < 0 else value_of(number)[1]
        ops = tuple(columns.index_of(row) for row in rows)
        name = columns.key_of(name_id)
        found.append(
            Finding(
                type="lost-update",
                ops=ops[:2],
                because=f"ops {', '.join(map(str, ops[:8]))} all read {value!r} from {name}, and "
                "each of them wrote it then",
                witness={"key": name, "value": value, "txns": list(ops)},
            )
        )
        if len(found) == SHOWN:
            break
    return found
