"""Draws what clients do: writers send, readers poll and commit, movers move leaderships."""

from __future__ import annotations

from dataclasses import dataclass

from harness.decisions import Decisions
from harness.schedule.schedule import Operation

TOPIC = "t"
REPLICAS = 3
SHARE_OF_REASSIGNMENTS = 0.25

Operations = dict[str, tuple[Operation, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Spread over the clients of each trade. Moments are drawn, so that they fall anywhere."""

    partitions: int = 3
    writers: int = 2
    readers: int = 2
    sends_per_s: float = 10.0
    polls_per_s: float = 10.0
    commits_per_s: float = 3.0
    moves_per_s: float = 0.2
    begin_ms: float
    end_ms: float
    nodes: int

    @property
    def clients(self) -> tuple[str, ...]:
        writers = [f"writer{number}" for number in range(1, self.writers + 1)]
        readers = [f"reader{number}" for number in range(1, self.readers + 1)]
        return (*writers, *readers, "mover")


def draw_operations(decisions: Decisions, load: Load) -> Operations:
    drawn: Operations = {}
    for client in load.clients:
        if client.startswith("writer"):
            drawn[client] = _sends(decisions, client, load)
        elif client.startswith("reader"):
            both = (*_polls(decisions, client, load), *_commits(decisions, client, load))
            drawn[client] = tuple(sorted(both, key=lambda operation: operation.at_ms))
        else:
            drawn[client] = _moves(decisions, client, load)
    return drawn


def _moments(decisions: Decisions, name: str, load: Load, per_s: float) -> list[float]:
    """Each operation's own decision: taking one away moves no other."""
    span_ms = load.end_ms - load.begin_ms
    count = int(span_ms / 1000 * per_s)
    at = decisions.of("moment", name)
    return sorted(round(load.begin_ms + at.at(number) * span_ms, 3) for number in range(count))


def _sends(decisions: Decisions, client: str, load: Load) -> tuple[Operation, ...]:
    """A value is sent once ever, so that a second sight of it is a duplicate."""
    where = decisions.of("partition", client)
    moments = _moments(decisions, client, load, load.sends_per_s / load.writers)
    return tuple(
        Operation(
            at_ms=at_ms,
            do="send",
            arguments={
                "partition": int(where.at(number) * load.partitions),
                "value": f"{client}.{number}",
            },
        )
        for number, at_ms in enumerate(moments)
    )


def _polls(decisions: Decisions, client: str, load: Load) -> tuple[Operation, ...]:
    """Half of them ask the leader, half a node of their own choice, which may be a follower."""
    where, whom = decisions.of("partition", client), decisions.of("node", client)
    moments = _moments(decisions, client, load, load.polls_per_s / load.readers)
    polls = []
    for number, at_ms in enumerate(moments):
        arguments: dict[str, object] = {"partition": int(where.at(number) * load.partitions)}
        choice = int(whom.at(number) * load.nodes * 2)
        if choice < load.nodes:
            arguments["node"] = choice + 1
        polls.append(Operation(at_ms=at_ms, do="poll", arguments=arguments))
    return tuple(polls)


def _commits(decisions: Decisions, client: str, load: Load) -> tuple[Operation, ...]:
    """Each commits another offset, so that it can be told which one was kept."""
    name = f"{client} commits"
    where = decisions.of("partition", name)
    moments = _moments(decisions, name, load, load.commits_per_s / load.readers)
    return tuple(
        Operation(
            at_ms=at_ms,
            do="commit",
            arguments={"partition": int(where.at(number) * load.partitions), "offset": number},
        )
        for number, at_ms in enumerate(moments)
    )


def _moves(decisions: Decisions, client: str, load: Load) -> tuple[Operation, ...]:
    """Leadership goes to another replica, and now and then the partition to other nodes."""
    where, whither = decisions.of("partition", client), decisions.of("replica", client)
    moves = []
    for number, at_ms in enumerate(_moments(decisions, client, load, load.moves_per_s)):
        arguments: dict[str, object] = {"partition": int(where.at(number) * load.partitions)}
        if whither.at(number) < SHARE_OF_REASSIGNMENTS and load.nodes > REPLICAS:
            dice = decisions.random("replicas", f"{client}.{number}")
            arguments["nodes"] = dice.sample(range(1, load.nodes + 1), k=REPLICAS)
            moves.append(Operation(at_ms=at_ms, do="reassign", arguments=arguments))
        else:
            # Which of the other replicas: who they are is known only then.
            arguments["replica"] = int(whither.at(number) * 1000)
            moves.append(Operation(at_ms=at_ms, do="move", arguments=arguments))
    return tuple(moves)
