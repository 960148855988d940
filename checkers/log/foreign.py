"""phantom-read and precommitted-read: values that nobody sent, and values that came too early."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from checkers.checker import Checker, of_facts
from checkers.clauses import UNCOMMITTED, VISIBLE_AT_ONCE, never
from checkers.columns import INFO
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.kernels import fitting
from checkers.kernels.log import own_reads
from checkers.kernels.values import PHANTOM
from checkers.log.facts import LogFacts
from checkers.log.keyed_sends import place_named
from checkers.log.words import key_text, of_number, place_of, place_text, value_text, who
from harness.client.driver import ANY_PARTITION
from harness.history import kinds


def phantom_reads(facts: LogFacts) -> Findings:
    """A value that nobody ever sent to that key: made up, broken, or of another partition."""
    columns = facts.columns
    found = facts.marks.having(PHANTOM).tolist()
    written = written_otherwise(facts) if found else set()
    if written:
        found = [
            number
            for number in found
            if (key_text(facts, int(facts.values.key[number])), mark_of(of_number(facts, number)))
            not in written
        ]

    def told(number: int) -> Finding:
        values = facts.values
        element = int(values.reader[number])
        if element < 0:
            element = int(values.other_reader[number])
        row, offset = columns.row_of(element), int(columns.elements.offset[element])
        key, value = int(values.key[number]), columns.value_of(element)
        return Finding(
            type="phantom-read",
            ops=(columns.index_of(row),),
            because=(
                f"{who(facts, row)} polled {value_text(value)} at {place_text(offset)} of "
                f"{key_text(facts, key)}, and no process sent it there"
            ),
            witness={"key": columns.key_of(key), "value": value, "offset": place_of(offset)},
        )

    return limited(
        "phantom-read",
        found[:SHOWN],
        len(found),
        looked_at=facts.marks.shown,
        nothing="no record was polled",
        told=told,
    )


def written_otherwise(facts: LogFacts) -> set[tuple[str, str]]:
    """Logs and values that were appended or put there: not sent, and yet somebody's.

    So are those of unknown sends that name a topic and no partition: the client chose one, and died
    before it could tell which.
    """
    columns, elements = facts.columns, facts.columns.elements
    return _sent_somewhere(facts) | {
        (
            log_of(facts, element),
            mark_of(columns.value_of(element) if elements.told[element] else None),
        )
        for element in facts.of_kind(kinds.APPEND, kinds.PUT, kinds.PUT_AT).tolist()
        if columns.ops.process[elements.op[element]] >= 0
    }


def _sent_somewhere(facts: LogFacts) -> set[tuple[str, str]]:
    """For each partition of the topic in the history, since nobody knows which it was."""
    columns, elements = facts.columns, facts.columns.elements
    logs: dict[str, list[str]] = {}
    topics: dict[int, str] = {}
    for number, key in enumerate(columns.history.keys):
        place = place_named(key)
        if place is not None and place.partition == ANY_PARTITION:
            topics[number] = place.topic
        elif place is not None:
            logs.setdefault(place.topic, []).append(place.key)
    unsure = np.flatnonzero(columns.outcome == INFO).tolist() if topics else []
    return {
        (log, mark_of(columns.value_of(element)))
        for row in unsure
        for element in range(int(facts.begin[row]), int(facts.end[row]))
        if int(elements.key[element]) in topics and elements.kind[element] == kinds.SEND
        for log in logs.get(topics[int(elements.key[element])], ())
    }


def log_of(facts: LogFacts, element: int) -> str:
    """The log that an element is about: `x` for the key `x/name`."""
    return key_text(facts, int(facts.columns.elements.key[element])).partition("/")[0]


def mark_of(value: Any) -> str:
    """A text that equal values have in common."""
    return json.dumps(value, sort_keys=True)


def precommitted_reads(facts: LogFacts) -> Findings:
    """An operation polls what it sends itself, before it can have committed."""
    columns = facts.columns
    nothing = "no operation both sent and polled"
    if not facts.both:
        return Findings(nothing=nothing)
    mixed, found = np.flatnonzero(facts.mixed).astype(np.int32), np.empty(SHOWN, np.int64)
    size = facts.end[mixed] - facts.begin[mixed]
    look = fitting(own_reads, int((size * size).sum()))
    count = look(mixed, facts.begin, facts.end, facts.cells, found)

    def told(element: int) -> Finding:
        row, value = columns.row_of(element), columns.value_of(element)
        key = int(columns.elements.key[element])
        return Finding(
            type="precommitted-read",
            ops=(columns.index_of(row),),
            because=(
                f"{who(facts, row)} polled {value_text(value)} from {key_text(facts, key)} "
                "in the same operation that sends it"
            ),
            witness={"key": columns.key_of(key), "value": value},
        )

    return limited(
        "precommitted-read",
        [int(element) for element in found[:count]],
        count,
        looked_at=mixed.size,
        nothing=nothing,
        told=told,
    )


CHECKERS = (
    Checker(
        name="phantom-read",
        about="A poll returned a value that no process sent.",
        look=of_facts(phantom_reads),
        rows=(never("A poll of a partition returns only records that were sent to it."),),
        stands=True,
        model="kafka",
    ),
    Checker(
        name="precommitted-read",
        about="An operation polled a record that it sends itself.",
        look=of_facts(precommitted_reads),
        rows=(
            UNCOMMITTED,
            VISIBLE_AT_ONCE,
            never(
                "No poll, its own included, returns a record of a transaction before it commits."
            ),
        ),
        model="kafka",
    ),
)
