"""unavailable: a partition that should serve when all is healed, and does not.

Judged by what the run saw of the cluster after the last fault, and after it had waited, and by what
became of the writes that it tried then. Guilt needs evidence: all faults healed, a majority of the
nodes answering, half a minute gone by, and for each partition a replica that must be able to lead,
because it is in the ISR, or because no disk of any replica was ever struck. A write in vain counts
where brokers answered the clients that tried it, and where the leader, and as many in sync as it
needs, answer and were never struck. Where evidence is lacking the verdict is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.checker import Checker, Evidence
from checkers.clauses import UNSAFE, never
from checkers.contract import Contract
from checkers.findings import Finding, Findings

AVAILABILITY = "availability"
UNAVAILABLE = "unavailable"
WAITED_S_MIN = 30.0
"""Three of Kafka's sessions: a cluster that was seen earlier may be about to come back."""
_IN_VAIN_MIN = 2
"""Writes of one client: the time of a single one may have passed because the client stood still."""


def _availability(evidence: Evidence, _: Contract) -> Findings:
    """Where no write was tried (a run of acks=0, or of an earlier version) none is asked for."""
    calm = evidence.calm
    if calm is None:
        return Findings(nothing="the cluster was not described after the last fault")
    try:
        return examined(calm)
    except (KeyError, TypeError, AttributeError, ValueError) as damage:
        # A stored run that is judged again may have been changed by hand.
        return Findings(nothing=f"the record of the calm phase is damaged: {damage!r}")


def examined(calm: Mapping[str, Any]) -> Findings:
    """`calm` is what harness/run/aftermath.py and probing.py write, as in results.json."""
    answering = {node for node, answers in calm["nodes"].items() if answers}
    why = _why_not(calm, answering)
    if why is not None:
        return Findings(nothing=why)
    struck = frozenset(calm["struck"])
    found, doubts = [], []
    for partition in calm["unwell"]:
        complaint = _complaint(partition)
        if _is_guilty(partition, answering, struck):
            found.append(
                Finding(
                    type=UNAVAILABLE,
                    ops=(),
                    because=(
                        f"{complaint} {calm['waited_s']:g} s after the last fault, although "
                        f"{_evidence(partition, answering, struck)}"
                    ),
                    witness=dict(partition),
                )
            )
        else:
            doubts.append(f"{complaint}, but no replica is known that could serve it")
    writes = calm.get("writes", {"before": 0, "late": ()})
    for late in writes["late"]:
        excuse = _excuse(late, answering, struck, writes["before"])
        if excuse is None:
            because = f"{_complaint_of_write(late)}, although {_evidence_of_write(late)}"
            found.append(Finding(type=UNAVAILABLE, ops=(), because=because, witness=dict(late)))
        else:
            doubts.append(f"{_complaint_of_write(late)}, but {excuse}")
    return Findings(
        found=tuple(found),
        count=len(found),
        looked_at=calm["partitions"] - len(doubts),
        nothing="no partition was described after the last fault",
        unsure=doubts[0] if doubts else "",
    )


def _why_not(calm: Mapping[str, Any], answering: set[str]) -> str | None:
    if not calm["healed"]:
        return "the faults were not healed, and may be the reason"
    if not calm["partitions"]:
        return "no partition was described after the last fault"
    if calm["unwell"] and calm["waited_s"] < WAITED_S_MIN:
        return f"the cluster was described {calm['waited_s']:g} s after the last fault: too early"
    if len(answering) <= len(calm["nodes"]) // 2:
        return (
            f"only {sorted(answering)} of {len(calm['nodes'])} nodes answer, which is no majority"
        )
    return None


def _complaint(partition: Mapping[str, Any]) -> str:
    if partition["leader"] is None:
        return f"{partition['partition']} has no leader"
    return (
        f"{partition['partition']} accepts no write with acks=all (in sync: "
        f"{partition['isr']}, min.insync.replicas: {partition['min_isr']})"
    )


def _is_guilty(partition: Mapping[str, Any], answering: set[str], struck: frozenset[str]) -> bool:
    sound = _sound(partition["replicas"], answering, struck)
    if partition["leader"] is None:
        # Whoever is in the ISR has everything. With an empty one it takes all of them, sound: then
        # nothing was ever lost, and whoever led last could lead again.
        in_sync = _sound(partition["isr"], answering, struck)
        return bool(in_sync) or len(sound) == len(partition["replicas"]) > 0
    enough: int = partition["min_isr"]
    return len(sound) >= enough


def _sound(nodes: Sequence[str], answering: set[str], struck: frozenset[str]) -> list[str]:
    return [each for each in nodes if each in answering and each not in struck]


def _evidence(partition: Mapping[str, Any], answering: set[str], struck: frozenset[str]) -> str:
    sound = _sound(partition["replicas"], answering, struck)
    return f"a majority answers, and so do its replicas {sound}, whose disks had no fault"


def _complaint_of_write(late: Mapping[str, Any]) -> str:
    partition, tries = late["partition"], late["tries"]
    if late["took_s"] is not None:
        return (
            f"{partition} acknowledged a write only {late['took_s']:g} s after healing "
            f"(one client tried {tries})"
        )
    last = f"; the last error was {late['error']}" if late["error"] else ""
    return (
        f"{partition} acknowledged none of {tries} writes that one client tried in the "
        f"{late['tried_s']:g} s after healing{last}"
    )


def _excuse(
    late: Mapping[str, Any], answering: set[str], struck: frozenset[str], before: int
) -> str | None:
    """Why a write that did not get through in time is nobody's guilt; None if it is."""
    if not before:
        return "no write was acknowledged before either, so the configuration may be the reason"
    if not late["tries"]:
        return "no client tried a write"
    if not late["heard"]:
        return "no broker answered the clients, so the clients may be the reason"
    in_vain = late["tries"] - (late["took_s"] is not None)
    if in_vain < _IN_VAIN_MIN or (late["took_s"] is None and late["tried_s"] < WAITED_S_MIN):
        return f"a finding needs at least {_IN_VAIN_MIN} failed writes and {WAITED_S_MIN:g} s"
    if late["leader"] is None:
        is_guilty = _is_guilty(late, answering, struck)
    else:
        in_sync = _sound(late["isr"], answering, struck)
        is_guilty = late["leader"] in in_sync and len(in_sync) >= late["min_isr"]
    return None if is_guilty else "no replica is known that could serve it"


def _evidence_of_write(late: Mapping[str, Any]) -> str:
    led = "no node leads it" if late["leader"] is None else f"{late['leader']} leads it"
    return f"{led}, {late['isr']} are in sync, a majority answers, and brokers answered the clients"


CHECKERS = (
    Checker(
        name=AVAILABILITY,
        about="A partition does not serve after healing although it should.",
        look=_availability,
        rows=(),
        other_rows={
            UNAVAILABLE: (
                UNSAFE,
                never(
                    "After healing, a partition has a leader and accepts writes if a "
                    "majority of the quorum and an eligible replica are up."
                ),
            ),
        },
    ),
)
