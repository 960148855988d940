"""FindCoordinator: by one key (versions 0 to 3) or by several (4 and later)."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.members import new_group
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

FIND = ApiKey.FIND_COORDINATOR
GROUP, TRANSACTION, SHARE = 0, 1, 2


@story(FIND)
def of_groups(talk: Talk) -> None:
    group = new_group(talk)
    talk.ask("group", key=group, coordinator_keys=[group])
    talk.ask("empty group id", key="", coordinator_keys=[""])
    if talk.version >= 4:
        talk.ask("no keys", coordinator_keys=[])
        talk.ask("two keys, one twice", coordinator_keys=[group, "other", group])
        talk.ask("an empty key among others", coordinator_keys=[group, "", "other"])
        talk.ask("a key of 5000 characters", coordinator_keys=["x" * 5000, group])
        talk.ask("many keys", coordinator_keys=[f"group-{number}" for number in range(50)])


@story(FIND, 1)
def of_other_kinds(talk: Talk) -> None:
    name = talk.name("transaction")
    wanted: Fields = {"key": name, "key_type": TRANSACTION, "coordinator_keys": [name]}
    talk.setup(
        FIND, version=4, key_type=TRANSACTION, coordinator_keys=[name],
        until=lambda response: response.coordinators[0].error_code == 0,
    )  # fmt: skip
    talk.ask("transaction", **wanted)
    talk.ask("empty transactional id", key="", key_type=TRANSACTION, coordinator_keys=[""])
    talk.attempt("share group, a key that is none", key="x", key_type=SHARE, coordinator_keys=["x"])
    talk.ask("two transactions", key=name, key_type=TRANSACTION, coordinator_keys=[name, "other"])
    talk.attempt("kind 3", key="x", key_type=3, coordinator_keys=["x"])
    talk.attempt("kind 3, two keys", key="x", key_type=3, coordinator_keys=["x", "y"])
    talk.attempt("kind 3, no keys", key="x", key_type=3, coordinator_keys=[])
    talk.attempt("kind -1", key="x", key_type=-1, coordinator_keys=["x"])
