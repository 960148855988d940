"""What may be written behind --nemesis, and what is said of the rest."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from harness.schedule.faults import FAULTS
from nemesis import NEMESES, described, for_fault, parse
from nemesis.churn import Churn
from nemesis.client import ClientFaults
from nemesis.clock import ClockFaults
from nemesis.compact import Compaction
from nemesis.disk import DiskFaults
from nemesis.kill import Kills
from nemesis.membership import MembershipFaults
from nemesis.move import Moves
from nemesis.packet import Packets
from nemesis.partition import PartitionFaults
from nemesis.pause import Pauses
from nemesis.power import PowerLosses
from nemesis.restart import Restarts
from nemesis.retention import RetentionFaults
from nemesis.wire import WireFaults
from tests.unit.harness.schedule.test_schedule import FULL

CLASSES: list[type] = [
    PartitionFaults,
    Kills,
    Pauses,
    Restarts,
    Moves,
    Packets,
    ClockFaults,
    PowerLosses,
    DiskFaults,
    WireFaults,
    Compaction,
    RetentionFaults,
    MembershipFaults,
    ClientFaults,
    Churn,
]


def test_nemeses_have_names_variants_and_targets() -> None:
    assert parse("none") == ()
    assert [each.name for each in parse("all")] == list(NEMESES)
    assert [type(each) for each in parse("all")] == CLASSES
    leader, kill, disk, anyone = parse("partition:leader, kill:n1+n3,disk:full@leader,clock@all")
    assert isinstance(leader, PartitionFaults)
    assert leader == PartitionFaults("partition:leader", "leader", "")
    assert [(each.name, each.variant, each.target) for each in (kill, disk, anyone)] == [  # type: ignore[attr-defined]
        ("kill:n1+n3", "", "n1+n3"),
        ("disk:full@leader", "full", "leader"),
        ("clock@all", "", "all"),
    ]
    at, of_group = parse("partition@n1:single,kill@coordinator:tail")
    assert (at.variant, at.target) == ("single", "n1")  # type: ignore[attr-defined]
    assert of_group.target == "coordinator:tail"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kil", "unknown nemesis 'kil'; did you mean kill?"),
        ("", "unknown nemesis ''; choose one of partition, kill"),
        ("kill,,pause", "empty nemesis name in 'kill,,pause'"),
        ("partition:halfs", "unknown variant partition:halfs; did you mean halves?"),
        ("packet:slow", "unknown variant packet:slow; choose one of delay, jitter"),
        ("kill:someone", "unknown target 'someone'; choose one of one, minority"),
        ("clock:jump@nobody", "unknown target 'nobody'"),
        ("kill,pause,kill", "nemesis kill is given twice"),
        ("move@n1", "move takes no target"),
        ("packet:regions@n1", "packet:regions takes no target: it strikes all nodes"),
        ("wire@n1", "wire takes no target"),
        ("compact@n1", "compact takes no target"),
        ("retention:n1", "retention takes no target"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_try(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        parse(text)


def test_each_says_in_a_sentence_what_it_does() -> None:
    told = described()
    assert list(told) == list(NEMESES)
    assert all(len(said) > 20 for said in told.values())
    assert "(halves, random-halves, single," in told["partition"]


def test_every_fault_of_a_schedule_has_a_nemesis() -> None:
    assert {type(fault) for fault in FULL.faults} == set(FAULTS.values())
    for fault in FULL.faults:
        assert isinstance(fault, for_fault(fault).kinds)


def test_naming_nemeses_loads_no_graphs() -> None:
    script = "import sys, nemesis; nemesis.parse('kill'); print('networkx' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert shown.stdout == b"False\n"
