"""The table of topic configurations, and the broker properties that give their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from broker.config.definitions import BROKER_PROPERTIES
from broker.config.property import Check, Kind, Property, Value, without_meaning

_HOUR_MS = 3600000
_MINUTE_MS = 60000


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker property that gives a topic configuration its value, times its unit."""

    name: str
    unit_ms: int = 1

    def convert(self, value: Value) -> Value:
        # A negative retention means "for ever" in every unit.
        if self.unit_ms == 1 or not isinstance(value, int) or value < 0:
            return value
        return value * self.unit_ms


# Topic name -> broker synonyms, the one that wins first.
SYNONYMS: dict[str, tuple[Synonym, ...]] = {
    "cleanup.policy": (Synonym("log.cleanup.policy"),),
    "compression.gzip.level": (Synonym("compression.gzip.level"),),
    "compression.lz4.level": (Synonym("compression.lz4.level"),),
    "compression.type": (Synonym("compression.type"),),
    "compression.zstd.level": (Synonym("compression.zstd.level"),),
    "delete.retention.ms": (Synonym("log.cleaner.delete.retention.ms"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "index.interval.bytes": (Synonym("log.index.interval.bytes"),),
    "max.compaction.lag.ms": (Synonym("log.cleaner.max.compaction.lag.ms"),),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "message.timestamp.after.max.ms": (Synonym("log.message.timestamp.after.max.ms"),),
    "message.timestamp.before.max.ms": (Synonym("log.message.timestamp.before.max.ms"),),
    "message.timestamp.type": (Synonym("log.message.timestamp.type"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    "min.compaction.lag.ms": (Synonym("log.cleaner.min.compaction.lag.ms"),),
    "min.insync.replicas": (Synonym("min.insync.replicas"),),
    "preallocate": (Synonym("log.preallocate"),),
    "retention.bytes": (Synonym("log.retention.bytes"),),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", _MINUTE_MS),
        Synonym("log.retention.hours", _HOUR_MS),
    ),
    "segment.bytes": (Synonym("log.segment.bytes"),),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "segment.jitter.ms": (
        Synonym("log.roll.jitter.ms"),
        Synonym("log.roll.jitter.hours", _HOUR_MS),
    ),
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR_MS)),
    "unclean.leader.election.enable": (Synonym("unclean.leader.election.enable"),),
}


def _from_synonyms(name: str, synonyms: tuple[Synonym, ...]) -> Property:
    first = BROKER_PROPERTIES[synonyms[0].name]
    last = BROKER_PROPERTIES[synonyms[-1].name]
    return Property(
        name=name,
        kind=first.kind,
        default=synonyms[-1].convert(last.default),
        about=first.about,
        check=first.check,
        meaning=first.meaning,
    )


_NO_REMOTE = "records are stored in log.dirs only"
_ONE_NODE = "takes effect with more than one node; this broker runs alone"

_REPLICAS = Check(form=r"\*|\d+:\d+", about_form="pairs of partition:broker, or *")

_WITHOUT_SYNONYM = (
    without_meaning("follower.replication.throttled.replicas", Kind.LIST, (), _ONE_NODE, _REPLICAS),
    without_meaning("leader.replication.throttled.replicas", Kind.LIST, (), _ONE_NODE, _REPLICAS),
    without_meaning("local.retention.bytes", Kind.LONG, -2, _NO_REMOTE),
    without_meaning("local.retention.ms", Kind.LONG, -2, _NO_REMOTE),
    without_meaning("remote.log.copy.disable", Kind.BOOLEAN, False, _NO_REMOTE),
    without_meaning("remote.log.delete.on.disable", Kind.BOOLEAN, False, _NO_REMOTE),
    without_meaning("remote.storage.enable", Kind.BOOLEAN, False, _NO_REMOTE),
)

TOPIC_PROPERTIES: dict[str, Property] = {
    known.name: known
    for known in sorted(
        [_from_synonyms(name, synonyms) for name, synonyms in SYNONYMS.items()]
        + list(_WITHOUT_SYNONYM),
        key=lambda known: known.name,
    )
}
