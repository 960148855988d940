"""The broker's configuration, typed: built from server.properties, or refused with every reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import cast

from broker.config.definitions import BROKER_PROPERTIES
from broker.config.derive import derive
from broker.config.errors import SHOWN_PROBLEMS, ConfigError, Problem
from broker.config.listeners import ListenerEntry, split_listener_property
from broker.config.properties import Entry, PropertiesSyntaxError, parse_properties
from broker.config.property import Meaning, Property, Value
from broker.config.suggest import nearest
from broker.config.values import WrongValueError, parse_value
from broker.config.voters import Voter
from broker.network.interface import Address

_SERVED_PER_LISTENER = ("max.connections",)
_FACTORS = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
"""How often the topics of coordinators are replicated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """A field is named after its property: `log_dirs` is `log.dirs`."""

    node_id: int
    broker_rack: str | None
    process_roles: tuple[str, ...]
    listeners: tuple[ListenerEntry, ...]
    advertised_listeners: tuple[ListenerEntry, ...]
    controller_listener_names: tuple[str, ...]
    inter_broker_listener_name: str
    controller_quorum_voters: tuple[Voter, ...]
    reference_metrics_listener: Address | None

    socket_send_buffer_bytes: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_listen_backlog_size: int
    max_connections: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: Mapping[str, int]
    connections_max_idle_ms: int
    queued_max_request_bytes: int
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int

    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    cordoned_log_dirs: tuple[str, ...]
    num_partitions: int
    default_replication_factor: int
    auto_create_topics_enable: bool
    delete_topic_enable: bool
    log_retention_check_interval_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_cleaner_enable: bool
    log_cleaner_backoff_ms: int
    reference_log_cleaner_removal_rule: str
    log_record_validation_enable: bool
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    request_timeout_ms: int

    replica_lag_time_max_ms: int
    replica_socket_timeout_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_fetch_min_bytes: int
    replica_fetch_backoff_ms: int
    replica_fetch_response_max_bytes: int
    replica_selector_class: str | None
    replica_alter_log_dirs_io_max_bytes_per_second: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_per_broker_percentage: int
    leader_imbalance_check_interval_seconds: int
    controlled_shutdown_enable: bool

    controller_quorum_election_timeout_ms: int
    controller_quorum_fetch_timeout_ms: int
    controller_quorum_election_backoff_max_ms: int
    controller_quorum_request_timeout_ms: int
    controller_quorum_retry_backoff_ms: int
    controller_quorum_fetch_snapshot_max_bytes: int
    controller_quorum_fetch_max_bytes: int
    broker_heartbeat_interval_ms: int
    broker_session_timeout_ms: int
    metadata_log_max_record_bytes_between_snapshots: int
    metadata_log_segment_bytes: int

    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int
    offsets_load_buffer_size: int
    offsets_commit_timeout_ms: int
    offset_metadata_max_bytes: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_max_size: int
    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_assignment_interval_ms: int
    group_consumer_max_size: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str
    group_consumer_regex_refresh_interval_ms: int
    transaction_max_timeout_ms: int
    transactional_id_expiration_ms: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_state_log_num_partitions: int
    transaction_state_log_segment_bytes: int
    transaction_state_log_replication_factor: int
    transaction_state_log_min_isr: int
    transaction_state_log_load_buffer_size: int

    transaction_partition_verification_enable: bool
    add_partitions_to_txn_retry_backoff_ms: int
    add_partitions_to_txn_retry_backoff_max_ms: int

    values: Mapping[str, Value] = field(repr=False)  # every known property
    given: Mapping[str, str] = field(repr=False)  # the ones that were set, as they were written
    from_file: Mapping[str, str] = field(repr=False)  # of these, what was there at the start

    @property
    def client_listeners(self) -> tuple[ListenerEntry, ...]:
        """The listeners that serve clients; controllers' own are not among them."""
        return tuple(
            entry for entry in self.listeners if entry.name not in self.controller_listener_names
        )

    @property
    def controller_listeners(self) -> tuple[ListenerEntry, ...]:
        return tuple(
            entry for entry in self.listeners if entry.name in self.controller_listener_names
        )

    def max_connections_of(self, listener: str) -> int | None:
        """The limit of one listener, whose name Kafka writes in lower case there."""
        text = self.given.get(f"listener.name.{listener.lower()}.max.connections")
        return None if text is None else int(text)

    @property
    def is_broker(self) -> bool:
        return not self.process_roles or "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        return not self.process_roles or "controller" in self.process_roles

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """Of the controller quorum, sorted; a node that was told of none is alone."""
        if not self.controller_quorum_voters:
            return (self.node_id,)
        return tuple(sorted(voter.node_id for voter in self.controller_quorum_voters))

    @classmethod
    def parse(
        cls,
        text: str,
        source: str = "server.properties",
        overrides: Mapping[str, str] | None = None,
    ) -> tuple[BrokerConfig, list[str]]:
        """The configuration and the warnings, each a sentence. Raises ConfigError."""
        try:
            entries = parse_properties(text)
        except PropertiesSyntaxError as error:
            raise ConfigError(
                [Problem(f"{source} line {error.line}", "syntax", error.what)]
            ) from None
        where = {name: f"{source} line {entry.line}" for name, entry in entries.items()}
        for name, value in (overrides or {}).items():
            entries[name] = Entry(value, 0)
            where[name] = f"--override {name}"
        config, warnings = _build(
            {name: entry.value for name, entry in entries.items()}, where, source
        )
        return config, _told_twice(entries, source) + warnings

    @classmethod
    def of(cls, given: Mapping[str, str]) -> BrokerConfig:
        """From Kafka's names and texts, for tests and for changes while running."""
        return _build(given, {}, "config")[0]

    def with_changes(self, dynamic: Mapping[str, str]) -> BrokerConfig:
        """As if these had stood in the file too."""
        if not dynamic:
            return self
        return replace(self.of({**self.from_file, **dynamic}), from_file=self.from_file)


def _build(
    given: Mapping[str, str], where: Mapping[str, str], source: str
) -> tuple[BrokerConfig, list[str]]:
    problems: list[Problem] = []
    warnings: list[str] = []
    values: dict[str, Value] = {known.name: known.default for known in BROKER_PROPERTIES.values()}
    for name, text in given.items():
        place = where.get(name, source)
        known = find_property(name)
        if known is None:
            is_shown = len(problems) < SHOWN_PROBLEMS
            meant = nearest(name, BROKER_PROPERTIES) if is_shown else ""
            problems.append(Problem(place, name, f"is not known{meant}"))
        elif known.meaning is Meaning.REFUSED:
            problems.append(Problem(place, name, known.about))
        else:
            try:
                value = parse_value(known, text)
            except WrongValueError as error:
                problems.append(Problem(place, name, str(error)))
                continue
            if known.name == name:
                values[name] = value
            is_served = known.name == name or known.name in _SERVED_PER_LISTENER
            if known.meaning is Meaning.WITHOUT_MEANING or not is_served:
                warnings.append(f"{place}: {name} has no effect: {known.about}")
    if problems:
        raise ConfigError(problems)

    def fail(name: str, what: str) -> None:
        problems.append(Problem(where.get(name, source), name, what))

    derived = derive(values, fail, warnings.append)
    if problems:
        raise ConfigError(problems)
    if not derived["controller_quorum_voters"]:
        # Nobody can join a node that is alone, so it would wait for other replicas for ever.
        values.update({name: 1 for name in _FACTORS if name not in given})
    for name in ("node.id", "broker.id"):  # as in Kafka, each says what the other says
        values[name] = cast("int", derived["node_id"])
        given = {name: str(derived["node_id"]), **given}
    typed = {
        each.name: derived.get(each.name, values.get(each.name.replace("_", ".")))
        for each in fields(BrokerConfig)
        if each.name not in ("values", "given", "from_file")
    }
    config = BrokerConfig(**typed, values=values, given=given, from_file=given)  # type: ignore[arg-type]
    return config, warnings


def _told_twice(entries: Mapping[str, Entry], source: str) -> list[str]:
    """Java takes the last one without a word, and so people look at the wrong line."""
    return [
        f"{source} line {entry.line}: {name} stands in line {entry.earlier_line}, too; the later "
        "one counts"
        for name, entry in entries.items()
        if entry.earlier_line is not None
    ]


def find_property(name: str) -> Property | None:
    """Also `listener.name.<listener>.<property>`, which sets a property for one listener."""
    return BROKER_PROPERTIES.get(split_listener_property(name)[1])
