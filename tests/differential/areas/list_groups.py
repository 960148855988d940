"""ListGroups and its filters."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.members import begun, commit, consumer, disturbed, left, new_group, settled
from tests.differential.script import story
from tests.differential.talk import Talk

LIST = ApiKey.LIST_GROUPS


def own(talk: Talk, step: str, **fields: Any) -> None:
    """Groups of other stories are left out of what is compared."""
    talk.ask(step, **fields)
    response = talk.steps[-1].response
    response["groups"] = [each for each in response.groups if each.group_id.startswith(talk.label)]


@story(LIST)
def groups_in_every_state(talk: Talk) -> None:
    topic = talk.topic()
    own(talk, "none yet")
    talk.setup(ApiKey.OFFSET_COMMIT, version=9, **commit(new_group(talk), topic))
    settled(talk)
    begun(talk)
    disturbed(talk, settled(talk))
    left(talk, settled(talk))
    consumer(talk, new_group(talk), topic.name)
    own(talk, "all")
    if talk.version >= 4:
        for state in ("Empty", "Stable", "PreparingRebalance", "CompletingRebalance", "Dead"):
            own(talk, f"state {state}", states_filter=[state])
        own(talk, "state stable, in small letters", states_filter=["stable"])
        own(talk, "state that is none", states_filter=["Nonsense"])
        own(talk, "empty state", states_filter=[""])
        own(talk, "two states", states_filter=["Empty", "Stable"])
        own(talk, "a state and nonsense", states_filter=["Empty", "Nonsense"])
    if talk.version >= 5:
        for kind in (
            "classic",
            "consumer",
            "Classic",
            "CONSUMER",
            "share",
            "streams",
            "nonsense",
            "",
        ):
            own(talk, f"type {kind!r}", types_filter=[kind])
        own(talk, "classic and stable", types_filter=["classic"], states_filter=["Stable"])
