"""`broker format` gives directories their identity, once."""

from pathlib import Path

import pytest

from tests.unit.broker.cli.conftest import Run

ID = "abcdefghijklmnopqrstug"


def identity(folder: Path) -> dict[str, str]:
    lines = (folder / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_meta_properties_say_cluster_node_and_directory_as_kafkas_do(
    broker: Run, home: Path
) -> None:
    ran = broker("format", "--config", home / "server.properties", "--cluster-id", ID)
    assert ran.code == 0
    found = identity(home / "data")
    assert (found["cluster.id"], found["node.id"], found["version"]) == (ID, "1", "1")
    assert len(found["directory.id"]) == 22


def test_a_cluster_id_is_drawn_when_none_is_given(broker: Run, home: Path) -> None:
    ran = broker("format", "--config", home / "server.properties")
    assert ran.code == 0
    assert identity(home / "data")["cluster.id"] in ran.out


def test_a_formatted_directory_is_not_formatted_again(broker: Run, home: Path) -> None:
    config = home / "server.properties"
    broker("format", "--config", config)
    before = identity(home / "data")
    ran = broker("format", "--config", config)
    assert (ran.code, "already formatted" in ran.err) == (255, True)
    assert broker("format", "--config", config, "--ignore-formatted").code == 0
    assert identity(home / "data") == before


def test_a_new_directory_joins_the_cluster_of_the_others(broker: Run, home: Path) -> None:
    config = home / "server.properties"
    broker("format", "--config", config)
    both = f"log.dirs={home}/data,{home}/more"
    assert broker("format", "--config", config, "--override", both).code == 255
    ran = broker("format", "--config", config, "--override", both, "--ignore-formatted")
    assert ran.code == 0
    old, new = identity(home / "data"), identity(home / "more")
    assert old["cluster.id"] == new["cluster.id"]
    assert old["directory.id"] != new["directory.id"]


def test_another_nodes_directory_stays_its_own(broker: Run, home: Path) -> None:
    config = home / "server.properties"
    broker("format", "--config", config)
    other = ("--override", "node.id=2")
    ran = broker("format", "--config", config, *other, "--ignore-formatted")
    assert (ran.code, "belongs to node 1" in ran.err) == (255, True)
    ran = broker("format", "--config", config, "--cluster-id", ID, "--ignore-formatted")
    assert (ran.code, "belongs to cluster" in ran.err) == (255, True)


@pytest.mark.parametrize("accepted", ["abcdefghijklmnopqrstuv", "AAAAAAAAAAAAAAAAAAAAAA=="])
def test_an_id_is_taken_as_kafkas_tool_takes_it(broker: Run, home: Path, accepted: str) -> None:
    ran = broker("format", "--config", home / "server.properties", "--cluster-id", accepted)
    assert ran.code == 0, ran.err
    assert f"cluster.id={accepted}\n" in (home / "data" / "meta.properties").read_text()


def test_an_id_of_another_form_is_refused(broker: Run, home: Path) -> None:
    for wrong in ("x", "abcdefghijklmnopqrstu!", "a" * 23, "a" * 22 + "=", "a" * 21 + "é", ""):
        ran = broker("format", "--config", home / "server.properties", "--cluster-id", wrong)
        assert ran.code == 254
    assert not (home / "data").exists()


def test_a_place_that_cannot_be_written_is_told(broker: Run, home: Path) -> None:
    (home / "file").write_text("")
    ran = broker(
        "format", "--config", home / "server.properties", "--override", f"log.dirs={home}/file/x"
    )
    assert (ran.code, "Traceback" in ran.err) == (255, False)
