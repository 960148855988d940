"""A history of lists judged in parts on one machine: what pipeline/check/cycles does on many."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools, Ints64
from checkers.columns import INFO, OK, Columns
from checkers.cuts.lists import Links, Part, Said, Summary, Value, conclude
from checkers.cuts.moments import Operations, Windows, cyclic_groups
from checkers.findings import SHOWN
from checkers.models import Question
from checkers.transactions.graph import NEVER, process_edges
from checkers.transactions.list_append import WholeLists
from checkers.transactions.verdicts import scope_of
from harness.history import kinds, schema
from harness.history.history import History
from harness.history.tables import Tables, with_words

_NUMBERED = (kinds.APPEND, kinds.READ_ELEMENT)
_READS = (kinds.READ, kinds.READ_EMPTY, kinds.READ_ELEMENT)


class CutLists:
    """Lists come to parts by chance, and moments are made better in so many rounds as chance has
    it: the findings must be those of the whole anyway."""

    def __init__(self, history: History, dice: Random, models: tuple[str, ...] = ()) -> None:
        self.history, self.dice, self.models = history, dice, models
        self.scope = scope_of(models)
        self.columns = Columns(history)
        self.element, self.said = self._speaking()
        part = np.array([dice.randrange(3) for _ in history.keys] or [0])
        mine = part[self.said.key]
        realtime = self.scope.realtime
        self.parts = [
            Part(self.said.some(mine == number), realtime=realtime) for number in np.unique(mine)
        ]

    def smaller(self) -> tuple[History, Question]:
        summary = conclude([each.summary for each in self.parts])
        members = self._members()
        kept = self._kept(summary, members)
        history = self._restricted(kept, members)
        return history, Question(consistency_models=self.models, lists=self._whole(summary))

    def _speaking(self) -> tuple[Ints64, Said]:
        columns, elements = self.columns, self.columns.elements
        begin, end = columns.spans
        rows = np.flatnonzero(columns.outcome > 0)
        spans = [np.arange(begin[row], end[row]) for row in rows]
        at = np.concatenate([np.empty(0, np.int64), *spans])
        row = np.repeat(rows, [each.size for each in spans])
        named = elements.key[at] >= 0
        at, row = at[named], row[named]
        said = Said(
            row=row,
            call=columns.call[row].astype(np.int64),
            outcome=columns.outcome[row],
            number=at,
            position=elements.position[at],
            kind=elements.kind[at],
            key=elements.key[at],
            value=elements.value[at],
            boxed=elements.boxed[at],
            told=elements.told[at],
        )
        return at, said

    def _operations(self) -> Operations:
        outcome = self.columns.outcome
        row = np.flatnonzero((outcome == OK) | (outcome == INFO))
        ended = (outcome[row] == OK) & self.scope.realtime
        return Operations(row, self.columns.call[row].astype(np.int64), np.where(ended, row, NEVER))

    def _links(self) -> list[Links]:
        links = [each.links for each in self.parts]
        if self.scope.process:
            known = self._operations()
            took_part = np.zeros(self.columns.outcome.size, np.bool_)
            took_part[known.row] = True
            source, target, *_ = process_edges(self.columns.ops.process, took_part)
            ends = [np.searchsorted(known.row, each) for each in (source, target)]
            links.append(Links.between(ends[0], ends[1], known.row, known.call, known.ret))
        return links

    def _members(self) -> Ints64:
        operations, links = self._operations(), self._links()
        empty = np.empty(0, np.int64)
        source = np.concatenate([empty, *(each.source for each in links)])
        target = np.concatenate([empty, *(each.target for each in links)])
        place = {int(row): number for number, row in enumerate(operations.row)}
        one = np.array([place[int(row)] for row in source], np.int64)
        other = np.array([place[int(row)] for row in target], np.int64)
        at = operations.call.copy()
        for _ in range(self.dice.randrange(4)):
            sent = at.copy()
            np.maximum.at(sent, other, at[one])
            at = np.minimum(sent, operations.ret)
        back = at[other] < at[one]
        halves = np.array([self.dice.random() < 0.5 for _ in range(int(back.sum()))], np.bool_)
        low, high = at[other][back], at[one][back]
        windows = Windows.merged(
            Windows.of(low[chosen], high[chosen]) for chosen in (halves, ~halves)
        )
        groups = self._groups(operations, windows, at, one, other)
        first = sorted(groups, key=lambda group: int(group[0]))[:SHOWN]
        return np.unique(np.concatenate([empty, *first]))

    def _groups(
        self, operations: Operations, windows: Windows, at: Ints64, one: Ints64, other: Ints64
    ) -> list[Ints64]:
        window = windows.place(at)
        within = window[one] == window[other]
        found = []
        for start in np.unique(np.concatenate([window[one[within]], windows.start])):
            mine = within & (window[one] == start)
            nodes = np.unique(
                np.concatenate([np.flatnonzero((window == start) & windows.holds(at)),
                                one[mine], other[mine]])
            )  # fmt: skip
            some = Operations(operations.row[nodes], operations.call[nodes], operations.ret[nodes])
            ends = operations.row[one[mine]], operations.row[other[mine]]
            found += cyclic_groups(some, *ends)
        return found

    def _kept(self, summary: Summary, members: Ints64) -> Bools:
        """Of the elements that speak."""
        said = self.said
        is_member = np.isin(said.row, members)
        touched = set(said.key[is_member].tolist())
        entire = summary.told(self._owners()) | (touched & summary.disagreeing)
        longest = {pair for each in self.parts for pair in zip(*each.longest, strict=True)}
        is_longest = np.array(
            [pair in longest for pair in zip(said.key, said.row, strict=True)], np.bool_
        )
        some = is_member | is_longest | ~np.isin(said.kind, _READS)
        kept: Bools = np.isin(said.key, list(entire)) | (np.isin(said.key, list(touched)) & some)
        return kept

    def _restricted(self, kept: Bools, members: Ints64) -> History:
        columns, tables = self.columns, self.history.tables
        rows = np.zeros(columns.outcome.size, np.bool_)
        rows[members] = True
        elements = np.zeros(len(tables.elements), np.bool_)
        elements[self.element[kept]] = True
        rows[self.said.row[kept]] = True
        rows[columns.elements.op[elements]] = True
        has = np.flatnonzero(rows & (columns.partner >= 0))
        rows[columns.partner[has]] = True
        mine = tables.elements.filter(pa.array(elements))
        first = tables.elements.take(pa.array(self._first_mentions(elements)))
        number = np.cumsum(rows)
        op = np.concatenate([np.zeros(len(first), np.int32), number[mine["op"].to_numpy()]])
        said = pa.concat_tables([first, mine])
        at = said.schema.get_field_index("op")
        said = said.set_column(at, said.schema.field("op"), pa.array(op.astype(np.int32)))
        ops = with_words(pa.concat_tables([_nobody(tables), tables.ops.filter(pa.array(rows))]))
        return History(tables._replace(ops=ops, elements=said))

    def _shared(self) -> dict[Value, int]:
        """Of values that several keys have the first element."""
        elements = self.columns.elements
        numbered = np.isin(elements.kind, _NUMBERED) & elements.told & (elements.key >= 0)
        first: dict[Value, int] = {}
        shared = set()
        for at in np.flatnonzero(numbered).tolist():
            value = (bool(elements.boxed[at]), int(elements.value[at]))
            if elements.key[first.setdefault(value, at)] != elements.key[at]:
                shared.add(value)
        return {value: first[value] for value in shared}

    def _owners(self) -> dict[Value, int]:
        return {value: int(self.columns.elements.key[at]) for value, at in self._shared().items()}

    def _first_mentions(self, kept: Bools) -> Ints64:
        elements = self.columns.elements
        mine = set(zip(elements.boxed[kept].tolist(), elements.value[kept].tolist(), strict=True))
        first = [at for value, at in self._shared().items() if value in mine]
        return np.array(first, np.int64)

    def _whole(self, summary: Summary) -> WholeLists:
        operations, columns = self._operations(), self.columns
        processes = np.unique(columns.ops.process[operations.row]).size
        pairs = operations.row.size - processes if self.scope.process else 0
        ordered = operations.row.size and operations.call.max() > operations.ret.min()
        return WholeLists(
            ops=len(self.history),
            reads=summary.reads,
            edges=summary.edges + pairs + bool(ordered),
            inner=summary.inner,
            is_touched=summary.reads > 0 or bool((columns.elements.kind == kinds.APPEND).any()),
        )


def _nobody(tables: Tables) -> pa.Table:
    one = {"index": -1, "time": 0, "process": -1, "type": "info", "f": "first-mentions"}
    return pa.Table.from_pylist([one], schema=schema.OPS).cast(tables.ops.schema)
