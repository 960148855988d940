"""Where consumers and producers do not go along a log step by step.

poll-skip and nonmonotonic-poll compare the last record of a process's last ok poll of a key with
the first of its next; int-poll-skip and int-nonmonotonic-poll compare records within one operation.
The like for sends; and producer-order, which goes by acknowledged offsets alone and forgets nothing
when a consumer is assigned anew. An assignment that leaves a key out, or sets its position, and a
group that gives or takes a key, end what is expected of that key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.arrays import Bools, Ints32, Ints64
from checkers.checker import Checker, of_facts
from checkers.clauses import (
    BLIND_RETRIES,
    LOSS,
    RETENTION,
    SUBSCRIBED,
    UNCLEAN,
    UNSAFE,
    allowed,
    never,
)
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.kernels import order
from checkers.kernels.survey import blocks_of
from checkers.kernels.tables import Lanes, Ranks
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, of_number, place_of, place_text, value_text
from harness.history import kinds


@dataclass(frozen=True, slots=True)
class Jumps:
    """Pairs of elements by kind of jump; the first few, and how many there are."""

    found: Ints64
    count: Ints64
    steps: int


def _rebalanced(facts: LogFacts) -> Bools:
    """Elements of keys that Jepsen's `rebalance-log` says were given or taken during the poll."""
    columns, elements = facts.columns, facts.columns.elements
    extras = facts.of_kind(kinds.EXTRA)
    exempt = np.zeros(elements.op.size if extras.size else 0, np.bool_)
    for extra in extras:
        log = columns.value_of(int(extra)).get("rebalance-log") or []
        names = {str(name) for entry in log for name in entry.get("keys") or []}
        row = int(elements.op[extra])
        for element in range(int(facts.begin[row]), int(facts.end[row]) if names else 0):
            if elements.key[element] >= 0:
                exempt[element] = str(columns.key_of(int(elements.key[element]))) in names
    return exempt


def _lanes(facts: LogFacts, chosen: Ints32) -> Lanes:
    processes = max(1, facts.columns.ops.numbers.size)
    last, free, block = np.full((3, processes), -1, np.int32)
    blocks = blocks_of(facts.rows.process, chosen, last, free, block)
    room = blocks * facts.key_count
    none = np.full(room, -1, np.int32)
    return Lanes(
        block=block,
        epoch=np.zeros(processes, np.int32),
        owner=np.full(blocks, -1, np.int32),
        kept=none,
        before=np.empty(room, np.int64),
        before_at=np.empty(room, np.int64),
        since=none.copy(),
        within=np.empty(room, np.int64),
        within_at=np.empty(room, np.int64),
        acked=none.astype(np.int64),
        acked_at=np.empty(room, np.int64),
    )


def _ranks(facts: LogFacts) -> Ranks:
    slots = facts.slots
    of_value = slots.ranking.of_values if slots.doubtful.any() else np.empty(0, np.int32)
    return Ranks(facts.base, slots.start, slots.doubtful, facts.slot_of_value, of_value)


def jumps_of_polls(facts: LogFacts) -> Jumps:
    found, count = np.zeros((4, SHOWN, 2), np.int64), np.zeros(4, np.int64)
    steps = order.poll_jumps(
        facts.rows,
        facts.moves,
        facts.cells,
        _ranks(facts),
        _rebalanced(facts),
        _lanes(facts, facts.rows.pollers),
        found,
        count,
    )
    return Jumps(found, count, steps)


def jumps_of_sends(facts: LogFacts) -> Jumps:
    found, count = np.zeros((5, SHOWN, 2), np.int64), np.zeros(5, np.int64)
    steps = order.send_jumps(
        facts.rows,
        facts.moves,
        facts.cells,
        _ranks(facts),
        _lanes(facts, facts.rows.senders),
        found,
        count,
    )
    return Jumps(found, count, steps)


_WORDS = {
    "poll-skip": "skipped to",
    "nonmonotonic-poll": "went back to",
    "int-poll-skip": "skipped to",
    "int-nonmonotonic-poll": "went back to",
    "nonmonotonic-send": "was appended at",
    "int-send-skip": "was appended at",
    "int-nonmonotonic-send": "was appended at",
    "producer-order": "was appended at",
}


def _findings(facts: LogFacts, jumps: Jumps, kind: int, type_: str, nothing: str) -> Findings:
    pairs = jumps.found[kind, : min(int(jumps.count[kind]), SHOWN)].tolist()
    return limited(
        type_,
        pairs,
        int(jumps.count[kind]),
        looked_at=jumps.steps,
        nothing=nothing,
        told=lambda pair: _told(facts, type_, *pair),
    )


def _told(facts: LogFacts, type_: str, before: int, after: int) -> Finding:
    columns = facts.columns
    rows = [columns.row_of(element) for element in (before, after)]
    values = [columns.value_of(element) for element in (before, after)]
    offsets = [int(columns.elements.offset[element]) for element in (before, after)]
    key = int(columns.elements.key[after])
    delta = facts.rank_of(int(facts.number[after])) - facts.rank_of(int(facts.number[before]))
    ops = tuple(dict.fromkeys(columns.index_of(row) for row in rows))
    polled = type_.endswith(("skip", "poll")) and "send" not in type_
    verb = "polled" if polled else "sent"
    places = [place_text(offset) for offset in offsets]
    later = f"in op {ops[1]}" if len(ops) > 1 else "in the same operation"
    subject = "" if polled else "the next record "
    return Finding(
        type=type_,
        ops=ops,
        because=f"process {columns.process_of(rows[0])} {verb} {value_text(values[0])} at "
        f"{places[0]} of {key_text(facts, key)} in op {ops[0]}, and {later} "
        f"{subject}{_WORDS[type_]} {places[1]}, {value_text(values[1])}",
        witness={
            "key": columns.key_of(key),
            "values": values,
            "offsets": [place_of(offset) for offset in offsets],
            "delta": delta,
            **({"skipped": _skipped(facts, key, before, after)} if delta > 1 else {}),
        },
    )


def _skipped(facts: LogFacts, key: int, before: int, after: int) -> list[Any]:
    """What lies between two elements, as far as it can be shown."""
    begin, end = int(facts.slots.start[key]), int(facts.slots.start[key + 1])
    rank, index = facts.slots.rank[begin:end], facts.values.index
    first, last = index[facts.number[before]], index[facts.number[after]]
    between = begin + np.flatnonzero((rank > first) & (rank < last))[:SHOWN]
    return [of_number(facts, int(facts.slots.held[slot])) for slot in between]


_NO_POLLS = "no process polled twice from one key"
_NO_SENDS = "no send recorded its offset"


def poll_skips(facts: LogFacts) -> Findings:
    return _findings(facts, facts.poll_jumps, order.SKIP, "poll-skip", _NO_POLLS)


def nonmonotonic_polls(facts: LogFacts) -> Findings:
    return _findings(facts, facts.poll_jumps, order.BACK, "nonmonotonic-poll", _NO_POLLS)


def int_poll_skips(facts: LogFacts) -> Findings:
    return _findings(facts, facts.poll_jumps, order.INNER_SKIP, "int-poll-skip", _NO_POLLS)


def int_nonmonotonic_polls(facts: LogFacts) -> Findings:
    kind = order.INNER_BACK
    return _findings(facts, facts.poll_jumps, kind, "int-nonmonotonic-poll", _NO_POLLS)


def nonmonotonic_sends(facts: LogFacts) -> Findings:
    return _findings(facts, facts.send_jumps, order.BACK, "nonmonotonic-send", _NO_SENDS)


def int_send_skips(facts: LogFacts) -> Findings:
    return _findings(facts, facts.send_jumps, order.INNER_SKIP, "int-send-skip", _NO_SENDS)


def int_nonmonotonic_sends(facts: LogFacts) -> Findings:
    kind = order.INNER_BACK
    return _findings(facts, facts.send_jumps, kind, "int-nonmonotonic-send", _NO_SENDS)


def producer_orders(facts: LogFacts) -> Findings:
    return _findings(facts, facts.send_jumps, order.PRODUCER_BACK, "producer-order", _NO_SENDS)


CHECKERS = (
    Checker(
        name="nonmonotonic-poll",
        about="A consumer goes back between operations without a seek.",
        look=of_facts(nonmonotonic_polls),
        rows=(
            SUBSCRIBED,
            UNSAFE,
            UNCLEAN,
            never("A consumer with an assigned partition goes back only by a seek."),
        ),
        stands=True,
        model="kafka",
    ),
    Checker(
        name="poll-skip",
        about="A consumer skips records between operations.",
        look=of_facts(poll_skips),
        rows=(
            SUBSCRIBED,
            RETENTION,
            *LOSS,
            never(
                "A consumer with an assigned partition continues at the offset after its "
                "last record."
            ),
        ),
        model="kafka",
    ),
    Checker(
        name="int-poll-skip",
        about="A poll skips records.",
        look=of_facts(int_poll_skips),
        rows=(
            RETENTION,
            *LOSS,
            never("The records of one poll are consecutive."),
        ),
        model="kafka",
    ),
    Checker(
        name="int-nonmonotonic-poll",
        about="A poll goes back.",
        look=of_facts(int_nonmonotonic_polls),
        rows=(
            UNSAFE,
            UNCLEAN,
            never("The records of one poll are in order."),
        ),
        model="kafka",
    ),
    Checker(
        name="nonmonotonic-send",
        about="A later send of a process is appended before an earlier one.",
        look=of_facts(nonmonotonic_sends),
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never("A producer's records are appended in the order in which it sent them."),
        ),
        model="kafka",
    ),
    Checker(
        name="int-send-skip",
        about="Records of other producers are between the records of one operation.",
        look=of_facts(int_send_skips),
        rows=(allowed("Other producers may write between two records of a transaction."),),
        model="kafka",
    ),
    Checker(
        name="int-nonmonotonic-send",
        about="The records of one operation are not appended in the order of its sends.",
        look=of_facts(int_nonmonotonic_sends),
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never("The records of one transaction are appended in the order of its sends."),
        ),
        model="kafka",
    ),
    Checker(
        name="producer-order",
        about="A producer received acknowledged offsets that do not grow.",
        look=of_facts(producer_orders),
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never("A producer's records are appended in the order in which it sent them."),
        ),
        model="kafka",
    ),
)
