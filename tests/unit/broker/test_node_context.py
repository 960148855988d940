"""Which node a line of the log is of: every task of a node knows it, and nobody else."""

import asyncio
import logging

from broker.world import current_node
from tests.nodes import create_topic, running_node, wire


async def test_a_node_leaves_no_trace_in_the_context_of_who_started_it() -> None:
    async with running_node() as node:
        assert current_node.get() == "-"
        assert node.node_id == 1
    assert current_node.get() == "-"


async def test_two_nodes_of_one_process_are_told_apart() -> None:
    async with running_node({"log.flush.offset.checkpoint.interval.ms": "1"}) as node:
        said: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        class Listening(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if not said.done():
                    said.set_result(current_node.get())

        listening = Listening()
        logging.getLogger("broker.housekeeping").addHandler(listening)
        try:
            async with wire(node) as client:
                await create_topic(client, "t")
            disk = node.world.disks["data"]
            disk.fail("replace")  # type: ignore[attr-defined]
            async with asyncio.timeout(10):
                assert await said == "1"
            disk.heal()  # type: ignore[attr-defined]
        finally:
            logging.getLogger("broker.housekeeping").removeHandler(listening)
