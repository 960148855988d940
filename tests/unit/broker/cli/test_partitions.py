"""broker partitions: replicas and leaders of a cluster of two."""

from __future__ import annotations

import time
from pathlib import Path

from tests.unit.broker.cli.conftest import Run
from tests.unit.broker.cli.homes import formatted, make_home
from tests.unit.broker.cli.processes import PATIENCE_S, free_ports, started

ONE = "AAAAAAAAAAAAAAAAAAAAAA"


def wait_for_leader(broker: Run, address: str, order: str) -> None:
    """A broker hears a little later of what the controller has decided."""
    until = time.monotonic() + PATIENCE_S
    while True:
        described = broker("topics", "describe", "--bootstrap-server", address, "t").out
        if f"leader: {order[0]}  " in described and f"replicas: {order}  " in described:
            return
        assert time.monotonic() < until, described
        time.sleep(0.05)


def test_a_partition_gets_other_replicas_and_another_leader(broker: Run, tmp_path: Path) -> None:
    [port] = free_ports(1)
    first = make_home(tmp_path / "first", 1, port, "broker,controller", {1: port})
    second = make_home(tmp_path / "second", 2, 0, "broker", {1: port})
    for home in (first, second):
        formatted(broker, home, ONE)
    with started(first), started(second) as (_, address):
        at = ("--bootstrap-server", address)
        made = broker("topics", "create", *at, "--partitions", 1, "--replication-factor", 2, "t")
        assert made.code == 0, made.err
        for order in ("1,2", "2,1"):
            moved = broker("partitions", "reassign", *at, "t", 0, order)
            assert (moved.code, moved.out) == (0, f"partition t-0 moves to {order}\n"), moved.err
            elected = broker("partitions", "elect", *at, "t", 0)
            assert elected.code == 0, elected.err
            assert elected.out == "partition t-0 is led by its preferred replica\n"
            wait_for_leader(broker, address, order)
        # Who leads already is left alone.
        assert broker("partitions", "elect", *at, "t", 0).code == 0

        missing = broker("partitions", "reassign", *at, "t", 7, "1,2")
        assert missing.code == 1
        assert "partition t-7: UNKNOWN_TOPIC_OR_PARTITION" in missing.err
        nobody = broker("partitions", "reassign", *at, "t", 0, "1,9")
        assert nobody.code == 1
        assert "partition t-0: INVALID_REPLICA_ASSIGNMENT" in nobody.err
        unknown = broker("partitions", "elect", *at, "u", 0)
        assert unknown.code == 1


def test_what_is_no_list_of_nodes_is_refused(broker: Run) -> None:
    refused = broker("partitions", "reassign", "--bootstrap", "localhost:1", "t", 0, "one")
    assert refused.code == 254
    assert "'one' is no list of node ids such as 1,2,3" in refused.err
