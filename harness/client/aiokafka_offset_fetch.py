"""Makes aiokafka respect the error of an OffsetFetch response.

aiokafka 0.14 sends version 3 and looks at the errors of partitions only. While a coordinator moves
or loads, a broker answers with an error for the whole group and no partition (OffsetFetch 2 and
later), and aiokafka takes that for a group that has committed nothing. An application then starts
again by `auto.offset.reset`. Without this module a run would accuse the broker of lost commits.
"""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import for_code
from aiokafka.protocol.commit import OffsetFetchRequest


def respect_group_errors(consumer: AIOKafkaConsumer) -> None:
    """Call this before the consumer subscribes. The library retries what is raised here."""
    client = consumer._client
    send = client.send

    async def checked_send(node_id: int, request: Any, **options: Any) -> Any:
        response = await send(node_id, request, **options)
        # Version 1 has no such field.
        code = getattr(response, "error_code", 0)
        if isinstance(request, OffsetFetchRequest) and code:
            raise for_code(code)()
        return response

    client.send = checked_send
