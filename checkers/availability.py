"""unavailable: a partition that should serve when all is healed, and does not.

Judged by what the run saw of the cluster after the last fault, and after it had waited. Guilt needs
evidence: all faults healed, a majority of the nodes answering, half a minute gone by, and for each
partition a replica that must be able to lead, because it is in the ISR, or because no disk of any
replica was ever struck. Where that is lacking the verdict is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.contract import Contract
from checkers.findings import Finding, Findings
from checkers.judge import judged
from checkers.verdict import Validity, Verdict

CHECKER = "availability"
UNAVAILABLE = "unavailable"
WAITED_S_MIN = 30.0
"""Three of Kafka's sessions: a cluster that was seen earlier may be about to come back."""


def availability(calm: Mapping[str, Any], contract: Contract) -> Verdict:
    """`calm` is what harness/run/aftermath.py writes: plain data, as in results.json."""
    answering = {node for node, answers in calm["nodes"].items() if answers}
    why = _why_not(calm, answering)
    if why is not None:
        return Verdict(checker=CHECKER, validity=Validity.UNKNOWN, why=why)
    struck = frozenset(calm["struck"])
    found, doubts = [], []
    for partition in calm["unwell"]:
        complaint = _complaint(partition)
        if _is_guilty(partition, answering, struck):
            found.append(
                Finding(
                    type=UNAVAILABLE,
                    ops=(),
                    because=f"{complaint} {calm['waited_s']:g} s after the last fault, though "
                    f"{_evidence(partition, answering, struck)}",
                    witness=dict(partition),
                )
            )
        else:
            doubts.append(f"{complaint}, and no replica is known that could serve it")
    verdict = judged(
        CHECKER,
        Findings(
            found=tuple(found),
            count=len(found),
            looked_at=calm["partitions"] - len(doubts),
            nothing="no partition was described after the last fault",
        ),
        contract,
    )
    if doubts and verdict.validity is Validity.VALID:
        return Verdict(
            checker=CHECKER, validity=Validity.UNKNOWN, why=doubts[0], stats=verdict.stats
        )
    return verdict


def _why_not(calm: Mapping[str, Any], answering: set[str]) -> str | None:
    if not calm["healed"]:
        return "the faults could not be healed, so the cluster may be excused"
    if not calm["partitions"]:
        return "no partition was described after the last fault"
    if calm["unwell"] and calm["waited_s"] < WAITED_S_MIN:
        return f"the cluster was described {calm['waited_s']:g} s after the last fault: too early"
    if len(answering) <= len(calm["nodes"]) // 2:
        return f"only {sorted(answering)} of {len(calm['nodes'])} nodes answer, and no majority"
    return None


def _complaint(partition: Mapping[str, Any]) -> str:
    if partition["leader"] is None:
        return f"{partition['partition']} has no leader"
    return (
        f"{partition['partition']} takes no write with acks=all, because only "
        f"{partition['isr']} are in sync and min.insync.replicas is {partition['min_isr']},"
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
    return f"a majority answers, and so do {sound} of its replicas, whose disks were never struck"
