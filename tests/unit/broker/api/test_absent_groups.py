"""No group can be joined; clients get that as plain answers."""

from broker.api.api_versions import api_versions
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import running_node as listening_node
from tests.nodes import wire
from tests.unit.broker.api.nodes import ask

REFUSED = (
    (ApiKey.JOIN_GROUP, m.JoinGroupRequest(protocols=[])),
    (ApiKey.SYNC_GROUP, m.SyncGroupRequest(assignments=[])),
    (ApiKey.HEARTBEAT, m.HeartbeatRequest()),
    (ApiKey.LEAVE_GROUP, m.LeaveGroupRequest(members=[])),
)


async def test_what_needs_a_coordinator_is_refused_and_not_advertised() -> None:
    async with listening_node() as node, wire(node) as connection:
        for key, body in REFUSED:
            answer = await connection.ask(key, 3, body)
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        told = api_versions(node, ask(ApiKey.API_VERSIONS, m.ApiVersionsRequest(), 0))
        advertised = {each.api_key for each in told.api_keys}
        assert ApiKey.OFFSET_FETCH in advertised
        assert not advertised & {key for key, _ in REFUSED}
