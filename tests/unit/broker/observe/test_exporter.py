"""What Prometheus reads: every metric that is documented, with its true value."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker.api.create_topics import create_topics
from broker.node import Node
from broker.observe.catalogue import CATALOGUE, MetricKind
from broker.observe.exporter import exposition
from broker.observe.metrics import ProcessFigures
from broker.observe.reference import metrics_page
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.group_requests import ONE_PARTITION, commit, coordinator_is_ready
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node
from tests.unit.broker.api.other_brokers import let_in

_DOCS = Path(__file__).parents[4] / "docs"


async def samples(node: Node) -> dict[str, list[tuple[dict[str, str], float]]]:
    text = (await exposition(node)).decode()
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


async def busy_node(node: Node) -> None:
    await create_topic(node, "t", 2)
    append(node, "t", 3)
    await coordinator_is_ready(node)
    assert await commit(node, 1) == 0
    metrics = node.metrics
    metrics.process_figures = lambda: ProcessFigures(123, 4.5, 6)
    metrics.produced("t", 3, 100)
    metrics.produce_failed("t", 50)
    metrics.fetched("t", 70)
    metrics.fetch_failed("t")
    metrics.request_done(ApiKey.PRODUCE, 0.004)
    metrics.request_failed(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
    metrics.connection_refused()
    metrics.loop_lag.observe(0.25)


async def test_every_metric_of_the_catalogue_is_exported_and_none_besides() -> None:
    async with running_node(ONE_PARTITION) as node:
        await busy_node(node)
        found = await samples(node)
        expected = {info.exported_name for info in CATALOGUE}
        for info in CATALOGUE:
            if info.kind is MetricKind.SUMMARY:
                expected |= {info.name + "_count", info.name + "_sum"}
            labels = set(found[info.exported_name][0][0])
            assert labels - {"quantile"} == set(info.labels), info.name
        assert set(found) == expected


async def test_values_are_the_nodes_own() -> None:
    async with running_node(ONE_PARTITION) as node:
        await busy_node(node)
        found = await samples(node)

        def value(name: str, **labels: str) -> float:
            [match] = [value for got, value in found[name] if labels.items() <= got.items()]
            return match

        prefix = "kafka_server_brokertopicmetrics_"
        assert value(prefix + "messagesin_total", topic="t") == 3
        assert value(prefix + "bytesin_total", topic="t") == 100
        assert value(prefix + "bytesout_total", topic="t") == 70
        assert value(prefix + "bytesrejected_total", topic="t") == 50
        assert value(prefix + "totalproducerequests_total", topic="t") == 2
        assert value(prefix + "failedproducerequests_total", topic="t") == 1
        assert value("kafka_log_log_logendoffset", topic="t", partition="0") == 3
        assert value("kafka_server_replicamanager_partitioncount") == 3
        assert value("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
        assert value(
            "kafka_network_requestmetrics_errors_total",
            request="PRODUCE",
            error="MESSAGE_TOO_LARGE",
        ) == 1  # fmt: skip
        of_group = {"group": "g", "topic": "t", "partition": "0"}
        assert value("reference_group_committed_offset", **of_group) == 1
        assert value("reference_group_records_lag", **of_group) == 2
        assert value("reference_group_offsets_left_out") == 0
        times = "kafka_network_requestmetrics_totaltimems"
        assert 4 <= value(times, request="PRODUCE", quantile="0.99") <= 4.8
        assert value("reference_loop_lag_seconds_max") == 0.25
        assert value("process_resident_memory_bytes") == 123


async def test_many_partitions_are_told_in_one_valid_text() -> None:
    async with running_node() as node:
        await create_topic(node, "many", 1200)
        text = (await exposition(node)).decode()
        assert text.count("# TYPE kafka_log_log_size gauge") == 1
        assert len((await samples(node))["kafka_log_log_size"]) == 1200


async def test_a_label_cannot_break_out_of_its_quotes() -> None:
    async with running_node() as node:
        node.metrics.produced('a"} 1\nevil 2', 1, 1)
        assert "evil" not in await samples(node)


def test_the_page_on_metrics_is_what_the_catalogue_says() -> None:
    assert (_DOCS / "reference" / "metrics.md").read_text() == metrics_page(), (
        "run: python -m broker.observe.reference > docs/reference/metrics.md"
    )


def test_every_metric_that_an_alert_names_exists() -> None:
    text = (_DOCS / "alerts.yml").read_text()
    named = set(re.findall(r"\b(?:kafka|reference|process)_[a-z0-9_]+\b", text))
    known = {info.exported_name for info in CATALOGUE}
    assert named
    assert named <= known, named - known
    alerts, recorded = text.count("- alert:"), text.count("- record:")
    assert alerts == text.count("summary:") == text.count("action:") >= 10
    assert alerts + recorded == text.count("expr:")


def test_an_alert_uses_no_series_that_no_rule_records() -> None:
    text = (_DOCS / "alerts.yml").read_text()
    recorded = set(re.findall(r"- record: (\S+)", text))
    used = set(re.findall(r"\b[a-z_]+(?::[a-z_]+)+\b", re.sub(r"- record: .*", "", text)))
    assert used == recorded != set()


async def test_a_node_that_is_only_a_controller_tells_of_itself() -> None:
    properties = {
        "process.roles": "controller",
        "listeners": "CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@localhost:9093",
    }
    async with running_node(properties) as node:
        found = await samples(node)
        assert found["kafka_server_replicamanager_partitioncount"][0][1] == 0


async def test_a_node_of_a_cluster_tells_what_it_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        "partitioncount": "server_replicamanager",
        "leadercount": "server_replicamanager",
        "underreplicatedpartitions": "server_replicamanager",
        "underminisrpartitioncount": "server_replicamanager",
        "offlinereplicacount": "server_replicamanager",
        "activecontrollercount": "controller_kafkacontroller",
        "offlinepartitionscount": "controller_kafkacontroller",
    }

    async def told(node: Node) -> list[float]:
        found = await samples(node)
        return [found[f"kafka_{room}_{name}"][0][1] for name, room in names.items()]

    async with running_node({"controlled.shutdown.enable": "false"}) as node:
        await let_in(node, 2)
        topics = {"own": [1, 2], "shared": [2, 1], "elsewhere": [2]}
        for name, replicas in topics.items():
            assigned = m.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)
            topic = m.CreatableTopic(
                name=name, num_partitions=-1, replication_factor=-1, assignments=[assigned]
            )
            body = m.CreateTopicsRequest(topics=[topic], timeout_ms=1000)
            answer = await create_topics(node, ask(ApiKey.CREATE_TOPICS, body))
            assert answer.topics[0].error_code == 0
        assert await told(node) == [2, 1, 0, 0, 0, 1, 0]
        monkeypatch.setattr(type(node.controller), "is_active", False)
        assert (await told(node))[5] == 0
        monkeypatch.undo()
