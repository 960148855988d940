"""`broker start`: a node in the real world, until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import click

from broker.cli.config_file import config_option, override_option, read_config
from broker.cli.errors import INTERRUPTED, OK, EnvironmentFailure, sentence
from broker.cli.lasting import leave_out, leave_out_what_lasts
from broker.cli.process import (
    boot_id,
    lock_directory,
    process_figures,
    raise_file_limit,
    segments_to_keep_open,
)
from broker.clock import SystemClock
from broker.config.broker import BrokerConfig
from broker.disk.files import FileDisk
from broker.disk.interface import Disk
from broker.disk.open_files import OpenFiles
from broker.disk.unreadable import UnreadableDisk
from broker.log.identity import NotFormattedError, WrongDirectoryError, read_identity
from broker.membership import RefusedError
from broker.network.interface import Address
from broker.network.sockets import SocketNetwork
from broker.node import Node
from broker.observe.exporter import CONTENT_TYPE, exposition
from broker.observe.logs import set_up_logs
from broker.observe.loop_lag import watch_loop_lag
from broker.observe.metrics_http import MetricsServer
from broker.protocol.errors import KafkaError
from broker.protocol.record_walk import COMPILED
from broker.quorum.quorum_state import QuorumStateError
from broker.quorum.snapshots import SnapshotCorruptError
from broker.quorum.strangers import WrongClusterError
from broker.world import World

_log = logging.getLogger(__name__)


@click.command("start")
@config_option
@override_option
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
)
def start(path: Path, overrides: Sequence[str], log_level: str) -> int:
    """Run one broker in the foreground. SIGTERM and SIGINT stop it cleanly."""
    config, warnings = read_config(path, overrides)
    clock = SystemClock()
    set_up_logs(log_level, clock)
    for warning in warnings:
        _log.warning(warning)
    if config.log_record_validation_enable and not COMPILED:
        _log.warning(
            "records are checked by Python code, about 25 times slower than compiled code; "
            "install a C compiler and Python's headers, then install the broker again"
        )
    open_files = OpenFiles(segments_to_keep_open(raise_file_limit()))
    try:
        return asyncio.run(_run(config, path, clock, open_files))
    except (WrongDirectoryError, WrongClusterError, RefusedError) as error:
        raise EnvironmentFailure(str(error)) from None
    except (QuorumStateError, SnapshotCorruptError) as error:
        raise EnvironmentFailure(f"{config.metadata_log_dir}: {error}") from None
    except OSError as error:
        raise EnvironmentFailure(f"cannot start: {sentence(error)}") from None
    except KafkaError as error:
        raise EnvironmentFailure(f"cannot start: {error}") from None


async def _run(
    config: BrokerConfig, config_path: Path, clock: SystemClock, open_files: OpenFiles
) -> int:
    disks: dict[str, Disk] = {
        path: FileDisk(path, open_files=open_files) for path in config.log_dirs
    }
    await _check_identity(config, config_path, disks)
    with ExitStack() as locks:
        for path, disk in disks.items():
            if not isinstance(disk, UnreadableDisk):
                locks.enter_context(lock_directory(path))
        world = World(
            disks=disks,
            network=SocketNetwork(
                send_buffer_bytes=config.socket_send_buffer_bytes,
                receive_buffer_bytes=config.socket_receive_buffer_bytes,
                backlog=config.socket_listen_backlog_size,
            ),
            clock=clock,
            random=Random(SystemRandom().getrandbits(256)),  # noqa: S311
            boot_id=boot_id(),
        )
        ended = _signals()
        unasked: list[asyncio.Future[None]] = []

        def look_after(node: Node) -> None:
            """Here and not in the node: a loop in virtual time is never late."""
            unasked.append(asyncio.ensure_future(watch_loop_lag(node.metrics)))
            unasked.append(asyncio.ensure_future(leave_out_what_lasts(node.partitions)))

        node = await Node.start(config, world, process_figures=process_figures, on_made=look_after)
        metrics = None
        try:
            metrics = await _serve_metrics(node)
            await _until_ready(node, ended)
            if not ended.done():
                leave_out()
                click.echo(f"ready on {_address(node)}")
            await _first_of(ended, node.failed)
            if node.failed.done():
                raise EnvironmentFailure(f"stopped, for it cannot go on: {_told(node.failed)}")
            return ended.result()
        finally:
            for each in unasked:
                each.cancel()
            if metrics is not None:
                await metrics.close()
            await node.stop()
            for disk in disks.values():
                await disk.close()


async def _until_ready(node: Node, ended: asyncio.Future[int]) -> None:
    """For a node among others: until there is a quorum, and it has its place. Or the end."""
    ready = asyncio.ensure_future(node.ready())
    try:
        await _first_of(ready, ended)
        if ready.done():
            ready.result()
    finally:
        ready.cancel()


async def _first_of(*futures: asyncio.Future[Any]) -> None:
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


def _address(node: Node) -> Address:
    if node.config.is_broker:
        return node.advertised
    entry = node.config.controller_listeners[0]
    return Address(entry.bind_host, entry.port)


def _told(failed: asyncio.Future[BaseException]) -> str:
    problem = failed.result()
    return sentence(problem) if isinstance(problem, OSError) else str(problem) or repr(problem)


async def _check_identity(config: BrokerConfig, config_path: Path, disks: dict[str, Disk]) -> None:
    """Before anything is locked or written. A directory that fails is used no more."""
    clusters: dict[str, str] = {}
    for path, disk in list(disks.items()):
        try:
            identity = await read_identity(disk, path)
        except OSError as problem:
            if path == config.metadata_log_dir:
                raise
            await disk.close()
            disks[path] = UnreadableDisk(problem)
            continue
        except NotFormattedError:
            raise EnvironmentFailure(
                f"{path} is not formatted; type: broker format --config {config_path}"
                + (" --ignore-formatted" if len(disks) > 1 else "")
            ) from None
        if identity.node_id != config.node_id:
            raise EnvironmentFailure(
                f"{path} belongs to node {identity.node_id}, but node.id is {config.node_id}"
            )
        clusters[path] = identity.cluster_id
    if len(set(clusters.values())) > 1:
        raise EnvironmentFailure(f"log.dirs belong to different clusters: {clusters}")


async def _serve_metrics(node: Node) -> MetricsServer | None:
    address = node.config.reference_metrics_listener
    if address is None:
        return None
    server = MetricsServer(lambda: exposition(node), CONTENT_TYPE)
    listening = await server.listen(node.world.network, address)
    _log.info("metrics at http://%s/metrics", listening)
    return server


def _signals() -> asyncio.Future[int]:
    """Done, with the exit code, when a signal asks for the end."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    loop.add_signal_handler(signal.SIGTERM, end, OK)
    loop.add_signal_handler(signal.SIGINT, end, INTERRUPTED)
    return ended
