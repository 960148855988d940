"""The assignor `uniform` for members with different subscriptions.

The result is as even as the subscriptions allow: no chain of moves, from member to member, would
take a partition from one member and give one to another that holds at least two fewer. Members
keep what they have, partitions without an owner go to the subscriber with the fewest, and then
partitions move until the balance holds.

Topics with the same subscribers are one `_Pool`. First each pool is balanced by itself, which
carries out nearly all moves; chains through several pools then do the rest. Every move lowers the
sum of the squares of the members' counts, so the moves come to an end.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace

from broker.groups.consumer.assignors.spec import Assignment, GroupSpec


class _Pool:
    """The partitions of all topics that the same members are subscribed to."""

    def __init__(self, subscribers: tuple[str, ...]) -> None:
        self.subscribers = subscribers
        self.owned: dict[str, list[tuple[bytes, int]]] = {each: [] for each in subscribers}
        self.free: list[tuple[bytes, int]] = []


def assign(spec: GroupSpec) -> Assignment:
    pools = _pools(spec)
    counts = dict.fromkeys(sorted(spec.members), 0)
    for pool in pools:
        for member_id, owned in pool.owned.items():
            counts[member_id] += len(owned)
    # Few subscribers leave little choice, so their partitions are placed first.
    for pool in sorted(pools, key=lambda each: (len(each.subscribers), each.subscribers)):
        _place_free(pool, counts)
    # Every pool is looked at in each round: a move in one can unbalance another.
    while sum(_balance(pool, counts) for pool in pools):
        pass
    _balance_by_chains(pools, counts)
    return _collected(spec, pools)


def _pools(spec: GroupSpec) -> list[_Pool]:
    subscribers: dict[bytes, list[str]] = {}
    for member_id in sorted(spec.members):
        for topic_id in spec.members[member_id].topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    pools: dict[tuple[str, ...], _Pool] = {}
    for topic_id in sorted(subscribers):
        key = tuple(subscribers[topic_id])
        pool = pools.setdefault(key, _Pool(key))
        taken: set[int] = set()
        for member_id in key:
            for number in sorted(spec.members[member_id].current.get(topic_id, ())):
                if number < spec.partition_counts[topic_id] and number not in taken:
                    taken.add(number)
                    pool.owned[member_id].append((topic_id, number))
        pool.free += [
            (topic_id, number)
            for number in range(spec.partition_counts[topic_id])
            if number not in taken
        ]
    return list(pools.values())


def _place_free(pool: _Pool, counts: dict[str, int]) -> None:
    if not pool.free:
        return
    heap = [(counts[member_id], member_id) for member_id in pool.subscribers]
    heapify(heap)
    for partition in pool.free:
        count, member_id = heap[0]
        pool.owned[member_id].append(partition)
        counts[member_id] = count + 1
        heapreplace(heap, (count + 1, member_id))


def _balance(pool: _Pool, counts: dict[str, int]) -> int:
    """Moves partitions inside one pool until no move helps; how many moved."""
    poorest = [(counts[member_id], member_id) for member_id in pool.subscribers]
    richest = [(-counts[each], each) for each in pool.subscribers if pool.owned[each]]
    heapify(poorest)
    heapify(richest)
    moved = 0
    while richest:
        negative, giver = richest[0]
        if -negative != counts[giver] or not pool.owned[giver]:
            _renew(richest, giver, -counts[giver], keep=bool(pool.owned[giver]))
            continue
        count, taker = poorest[0]
        if count != counts[taker]:
            _renew(poorest, taker, counts[taker], keep=True)
            continue
        if counts[giver] - count < 2:
            break
        pool.owned[taker].append(pool.owned[giver].pop())
        counts[giver] -= 1
        counts[taker] += 1
        moved += 1
    return moved


def _renew(heap: list[tuple[int, str]], member_id: str, rank: int, *, keep: bool) -> None:
    """Replaces the outdated head of a heap, or drops it."""
    if keep:
        heapreplace(heap, (rank, member_id))
        return
    last = heap.pop()
    if heap:
        heapreplace(heap, last)


def _balance_by_chains(pools: list[_Pool], counts: dict[str, int]) -> None:
    """Looks for chains from the members with the most partitions on.

    A search that finds nothing settles all members it came to: they reach nobody else, nobody among
    them has two fewer, and no later search begins with more. So each is searched only once.
    """
    pools_of: dict[str, list[_Pool]] = {member_id: [] for member_id in counts}
    for pool in pools:
        for member_id in pool.subscribers:
            pools_of[member_id].append(pool)
    settled: set[str] = set()
    heap = [(-count, member_id) for member_id, count in counts.items()]
    heapify(heap)
    while heap:
        negative, giver = heap[0]
        if giver in settled or -negative != counts[giver]:
            heappop(heap)
            continue
        chain = _chain_from(giver, pools_of, counts, settled)
        for pool, gives, takes in chain:
            pool.owned[takes].append(pool.owned[gives].pop())
        if chain:
            taker = chain[0][2]
            for member_id, by in ((giver, -1), (taker, +1)):
                counts[member_id] += by
                heappush(heap, (-counts[member_id], member_id))


def _chain_from(
    giver: str, pools_of: dict[str, list[_Pool]], counts: dict[str, int], settled: set[str]
) -> list[tuple[_Pool, str, str]]:
    """The moves of the shortest chain, the last one first: pool, who gives, who takes."""
    came_by: dict[str, tuple[_Pool, str]] = {}
    reached = {giver}
    searched: set[tuple[str, ...]] = set()
    queue = deque([giver])
    while queue:
        member_id = queue.popleft()
        for pool in pools_of[member_id]:
            if not pool.owned[member_id] or pool.subscribers in searched:
                continue
            searched.add(pool.subscribers)
            for other in pool.subscribers:
                if other in reached or other in settled:
                    continue
                reached.add(other)
                came_by[other] = pool, member_id
                if counts[giver] - counts[other] >= 2:
                    return _steps(other, came_by)
                queue.append(other)
    settled |= reached
    return []


def _steps(taker: str, came_by: dict[str, tuple[_Pool, str]]) -> list[tuple[_Pool, str, str]]:
    steps = []
    while taker in came_by:
        pool, gives = came_by[taker]
        steps.append((pool, gives, taker))
        taker = gives
    return steps


def _collected(spec: GroupSpec, pools: list[_Pool]) -> Assignment:
    found: dict[str, dict[bytes, list[int]]] = {member_id: {} for member_id in spec.members}
    for pool in pools:
        for member_id, owned in pool.owned.items():
            for topic_id, number in owned:
                found[member_id].setdefault(topic_id, []).append(number)
    targets: Assignment = {}
    for member_id, topics in found.items():
        target = {topic_id: frozenset(topics[topic_id]) for topic_id in sorted(topics)}
        current = spec.members[member_id].current
        targets[member_id] = current if current == target else target
    return targets
