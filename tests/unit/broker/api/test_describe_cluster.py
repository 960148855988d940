"""DescribeCluster tells of the one node."""

from broker.api.describe_cluster import describe_cluster, describe_controllers
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import CLUSTER_ID, ask, running_node


async def test_the_cluster_is_this_node() -> None:
    async with running_node() as node:
        body = m.DescribeClusterRequest(include_cluster_authorized_operations=True)
        told = describe_cluster(node, ask(ApiKey.DESCRIBE_CLUSTER, body))
        assert (told.error_code, told.error_message, told.cluster_id) == (0, None, CLUSTER_ID)
        assert [(each.broker_id, each.host, each.port) for each in told.brokers] == [
            (1, "localhost", 9092)
        ]
        assert (told.controller_id, told.cluster_authorized_operations) == (1, 8096)


async def test_controllers_are_not_asked_for_here() -> None:
    async with running_node() as node:
        codes = [
            describe_cluster(
                node, ask(ApiKey.DESCRIBE_CLUSTER, m.DescribeClusterRequest(endpoint_type=kind))
            ).error_code
            for kind in (2, 3)
        ]
        assert codes == [
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        ]


async def test_a_controllers_listener_tells_of_the_voters() -> None:
    properties = {
        "process.roles": "broker,controller",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@localhost:9093",
    }
    for voters in (properties["controller.quorum.voters"], ""):
        async with running_node({**properties, "controller.quorum.voters": voters}) as node:
            await node.ready()
            request = ask(ApiKey.DESCRIBE_CLUSTER, m.DescribeClusterRequest(endpoint_type=2))
            request.listener = "CONTROLLER"
            told = describe_controllers(node, request)
            members = [(each.broker_id, each.host, each.port) for each in told.brokers]
            assert members == [(1, "localhost", 9093)]
            assert (told.controller_id, told.cluster_id, told.endpoint_type) == (1, CLUSTER_ID, 2)
            request.body.endpoint_type = 1
            told = describe_controllers(node, request)
            assert told.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
