"""Puts a node's part in the quorum together from its configuration and its disk."""

from __future__ import annotations

from collections.abc import Callable

from broker.config.broker import BrokerConfig
from broker.network.interface import Address
from broker.peers.channel import Channel
from broker.quorum.metadata_log import DIRECTORY, MetadataLog
from broker.quorum.metadata_puller import MetadataPuller
from broker.quorum.quorum import Quorum, QuorumSettings
from broker.quorum.quorum_state import QuorumStateError, QuorumStateFile
from broker.quorum.replay import OnApplied, Replay
from broker.raft.errors import UnfitStateError
from broker.raft.machine import Raft
from broker.raft.member_state import QuorumTimeouts
from broker.world import World

_OLD_FILE = "cluster-metadata.json"
_BACKOFF_MAX_S = 1.0


async def open_quorum(
    config: BrokerConfig,
    world: World,
    cluster_id: str,
    *,
    now: float,
    on_applied: OnApplied,
    on_fatal: Callable[[BaseException], None],
) -> Quorum:
    """Nothing is spoken before `start`. Raises QuorumStateError, SnapshotCorruptError, OSError."""
    disk = world.disks[config.metadata_log_dir]
    if _OLD_FILE in await disk.list(""):
        raise QuorumStateError(
            f"{_OLD_FILE} is from a version that kept its metadata in one file; this one keeps it "
            f"in {DIRECTORY}. Copy the records to a new cluster"
        )
    state_file = QuorumStateFile(disk, f"{DIRECTORY}/quorum-state", config.voter_ids)
    state = await state_file.read()
    log = await MetadataLog.open(disk, world.clock, config.metadata_log_segment_bytes)
    replay = Replay(
        log,
        await log.snapshots.load(),
        on_applied,
        snapshot_after_bytes=config.metadata_log_max_record_bytes_between_snapshots,
        voters=config.voter_ids,
    )
    timeouts = QuorumTimeouts(
        election_s=config.controller_quorum_election_timeout_ms / 1000,
        fetch_s=config.controller_quorum_fetch_timeout_ms / 1000,
        backoff_max_s=config.controller_quorum_election_backoff_max_ms / 1000,
    )
    try:
        raft = Raft(
            config.node_id, config.voter_ids, state, log, timeouts, world.random.random, now
        )
    except UnfitStateError as error:
        raise QuorumStateError(f"{DIRECTORY}: {error}; restore it from a copy") from error
    settings = _settings(config, cluster_id)
    quorum = Quorum(
        settings,
        raft,
        log,
        state_file,
        replay,
        network=world.network,
        random=world.random,
        on_fatal=on_fatal,
    )
    quorum.puller = MetadataPuller(
        quorum,
        {
            voter: _channel(world, address, settings)
            for voter, address in settings.voters.items()
            if voter != config.node_id
        },
        fetch_timeout_s=timeouts.fetch_s,
        fetch_bytes=config.controller_quorum_fetch_max_bytes,
        snapshot_bytes=config.controller_quorum_fetch_snapshot_max_bytes,
    )
    return quorum


def _settings(config: BrokerConfig, cluster_id: str) -> QuorumSettings:
    return QuorumSettings(
        node_id=config.node_id,
        cluster_id=cluster_id,
        voters={voter.node_id: voter.address for voter in config.controller_quorum_voters},
        request_timeout_s=config.controller_quorum_request_timeout_ms / 1000,
        backoff_s=config.controller_quorum_retry_backoff_ms / 1000,
        backoff_max_s=_BACKOFF_MAX_S,
    )


def _channel(world: World, address: Address, settings: QuorumSettings) -> Channel:
    return Channel(
        world.network,
        address,
        client_id=f"quorum-fetch-of-{settings.node_id}",
        random=world.random,
        backoff_s=settings.backoff_s,
        backoff_max_s=settings.backoff_max_s,
    )
