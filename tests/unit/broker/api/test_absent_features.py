"""What is not here is said plainly, in the form that tools expect."""

from broker.api.absent_features import describe_acls
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, running_node


async def test_without_an_authorizer_there_are_no_acls_to_describe() -> None:
    async with running_node() as node:
        told = describe_acls(node, ask(ApiKey.DESCRIBE_ACLS, m.DescribeAclsRequest()))
        assert told.error_code == ErrorCode.SECURITY_DISABLED
        assert told.error_message == "no authorizer is configured"
