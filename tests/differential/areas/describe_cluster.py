"""DescribeCluster, and what else describes the cluster as a whole."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk


@story(ApiKey.DESCRIBE_CLUSTER)
def the_cluster(talk: Talk) -> None:
    talk.ask("brokers")
    talk.ask("with operations", include_cluster_authorized_operations=True)
    if talk.version >= 1:
        for kind in (0, 2, 3, -1):
            talk.ask(f"endpoint type {kind}", endpoint_type=kind)
    if talk.version >= 2:
        talk.ask("with fenced brokers", include_fenced_brokers=True)


@story(ApiKey.DESCRIBE_QUORUM)
def the_quorum(talk: Talk) -> None:
    def asked(topic: str, *partitions: int) -> Fields:
        listed = [{"partition_index": index} for index in partitions]
        return {"topics": [{"topic_name": topic, "partitions": listed}]}

    # Its length differs, and Kafka's epoch grows whenever a request makes its controller fail.
    for topic in talk.ask("the metadata log", **asked("__cluster_metadata", 0)).topics:
        for part in topic.partitions:
            part.update(leader_epoch=part.leader_epoch > 0, high_watermark=part.high_watermark > 0)
            for voter in part.current_voters:
                voter["log_end_offset"] = voter.log_end_offset > 0
    talk.ask("another partition", **asked("__cluster_metadata", 1))
    talk.ask("another topic", **asked("other", 0))
    talk.ask("two partitions", **asked("__cluster_metadata", 0, 1))
    talk.ask("no topics", topics=[])
    talk.ask("no partitions", **asked("__cluster_metadata"))


@story(ApiKey.UNREGISTER_BROKER)
def brokers_that_are_not_there(talk: Talk) -> None:
    talk.ask("broker 9", broker_id=9)
    talk.ask("broker -1", broker_id=-1)
    # Unregistering the only broker is left alone: neither system would recover for the rest.


@story(ApiKey.DESCRIBE_ACLS)
def without_an_authorizer(talk: Talk) -> None:
    everything = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
        "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    talk.ask("all of them", **everything)
    talk.attempt("unknown resource type", **{**everything, "resource_type_filter": 0})
    talk.attempt("unknown operation", **{**everything, "operation": 0})
    talk.attempt("a pattern that is none", **{**everything, "pattern_type_filter": 9})
