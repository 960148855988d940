"""Properties of the controller quorum: its voters, its timeouts, the log that it keeps."""

from __future__ import annotations

from broker.config.property import LONG_MAX, Kind, at_least, used, without_meaning

_FIXED_VOTERS = "the voters are the ones of controller.quorum.voters"
_NOT_MEASURED = "the controller is not timed event by event"
_SNAPSHOT_RULES = "the metadata log keeps what follows its last snapshot, and nothing older"

PROPERTIES = (
    used(
        "controller.quorum.voters", Kind.LIST, (),
        "id@host:port of every controller. Not set: this node is the only one.",
    ),
    used(
        "controller.quorum.election.timeout.ms", Kind.INT, 1000,
        "How long a candidate waits for votes before it tries again.", at_least(1),
    ),
    used(
        "controller.quorum.fetch.timeout.ms", Kind.INT, 2000,
        "How long a voter does without its leader before it asks for an election.", at_least(1),
    ),
    used(
        "controller.quorum.election.backoff.max.ms", Kind.INT, 1000,
        "The longest random wait after a lost election.", at_least(0),
    ),
    used(
        "controller.quorum.request.timeout.ms", Kind.INT, 2000,
        "How long a request to another controller may take.", at_least(1),
    ),
    used(
        "controller.quorum.retry.backoff.ms", Kind.INT, 20,
        "The first wait after a failed request; each further one is longer.", at_least(1),
    ),
    used(
        "controller.quorum.fetch.snapshot.max.bytes", Kind.INT, 8388608,
        "What is fetched of a snapshot at once.", at_least(1),
    ),
    used(
        "controller.quorum.fetch.max.bytes", Kind.INT, 8388608,
        "What is fetched of the metadata log at once.", at_least(1),
    ),
    used(
        "broker.heartbeat.interval.ms", Kind.INT, 2000,
        "How often a broker tells the controller that it lives.", at_least(1),
    ),
    used(
        "broker.session.timeout.ms", Kind.INT, 9000,
        "A broker that was silent for so long is fenced, and its leaderships move.", at_least(1),
    ),
    used(
        "metadata.log.max.record.bytes.between.snapshots", Kind.LONG, 20971520,
        "How much metadata log is written before the next snapshot.", at_least(1),
    ),
    used(
        "metadata.log.segment.bytes", Kind.INT, 2**30,
        "The largest segment of the metadata log.", at_least(12),
    ),
    without_meaning("controller.quorum.bootstrap.servers", Kind.LIST, (), _FIXED_VOTERS),
    without_meaning("controller.quorum.auto.join.enable", Kind.BOOLEAN, False, _FIXED_VOTERS),
    without_meaning(
        "controller.quorum.append.linger.ms", Kind.INT, 25,
        "changes that come while one is being committed are written together",
    ),
    without_meaning(
        "controller.performance.sample.period.ms", Kind.LONG, 60000, _NOT_MEASURED, at_least(100)
    ),
    without_meaning(
        "controller.performance.always.log.threshold.ms", Kind.LONG, 2000, _NOT_MEASURED,
        at_least(0),
    ),
    without_meaning(
        "initial.broker.registration.timeout.ms", Kind.INT, 60000,
        "a broker goes on trying to register",
    ),
    without_meaning(
        "server.max.startup.time.ms", Kind.LONG, LONG_MAX, "a start may take its time", at_least(0)
    ),
    without_meaning("early.start.listeners", Kind.LIST, None, "all listeners start together"),
    without_meaning(
        "metadata.log.max.snapshot.interval.ms", Kind.LONG, 3600000,
        "snapshots are made by size only", at_least(0),
    ),
    without_meaning(
        "metadata.log.segment.min.bytes", Kind.INT, 8388608,
        "metadata.log.segment.bytes may be any size", at_least(12),
    ),
    without_meaning("metadata.log.segment.ms", Kind.LONG, 604800000, _SNAPSHOT_RULES),
    without_meaning("metadata.max.retention.bytes", Kind.LONG, 104857600, _SNAPSHOT_RULES),
    without_meaning("metadata.max.retention.ms", Kind.LONG, 604800000, _SNAPSHOT_RULES),
    without_meaning(
        "metadata.max.idle.interval.ms", Kind.INT, 500, "an idle metadata log is left alone",
        at_least(0),
    ),
    without_meaning("unstable.api.versions.enable", Kind.BOOLEAN, False, "no API here is unstable"),
    without_meaning(
        "unstable.feature.versions.enable", Kind.BOOLEAN, False, "no feature here is unstable"
    ),
)  # fmt: skip
