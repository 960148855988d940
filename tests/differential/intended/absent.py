"""APIs and features that Kafka has and our broker does not serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.differential.compare import ABSENT
from tests.differential.judge import Intended, Kind

_TABLE = "the_table/named"

_APIS: Mapping[str, Sequence[int]] = {
    "Our broker has no authentication and no authorization.": (17, 36, 30, 31, 50, 51),
    "Our broker has no delegation tokens.": (38, 39, 40, 41),
    "Our broker has no quotas.": (48, 49),
    "The features of our broker are fixed by its version.": (57,),
    "Our broker has no share groups.": (76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92),
    "Our broker has no groups of Kafka Streams.": (88, 89),
    "The voters of our quorum are fixed by controller.quorum.voters.": (80, 81),
}
"""The reason, and the keys of the APIs that are missing for it."""

_FEATURES: Mapping[str, str] = {
    "eligible.leader.replicas.version": "Our controller keeps eligible leader replicas always.",
    "kraft.version": "The voters of our quorum are fixed by controller.quorum.voters.",
    "share.version": "Our broker has no share groups.",
    "streams.version": "Our broker has no groups of Kafka Streams.",
}
_SINCE_3, _SINCE_4 = range(3, 5), range(4, 5)
_WITHOUT_LEVEL = frozenset(("kraft.version",))
_LEVEL = "Our broker has the metadata of Kafka 4.0 (level 25)."

ENTRIES = (
    *(
        Intended("api_versions", f"api_keys[{key}]", why, Kind.ABSENT, _TABLE, ours=ABSENT)
        for why, keys in _APIS.items()
        for key in keys
    ),
    *(
        Intended(
            "api_versions", f"supported_features[{name}]", why, Kind.ABSENT, _TABLE, _SINCE_4,
            ours=ABSENT,
        )
        for name, why in _FEATURES.items()
    ),
    *(
        Intended(
            "api_versions", f"finalized_features[{name}]", why, Kind.ABSENT, _TABLE, _SINCE_3,
            ours=ABSENT,
        )
        for name, why in _FEATURES.items()
        if name not in _WITHOUT_LEVEL
    ),
    *(
        Intended("api_versions", path, _LEVEL, Kind.ABSENT, _TABLE, _SINCE_3, kafka=30, ours=25)
        for path in (
            "supported_features[metadata.version].max_version",
            "finalized_features[metadata.version].max_version_level",
            "finalized_features[metadata.version].min_version_level",
        )
    ),
)  # fmt: skip
