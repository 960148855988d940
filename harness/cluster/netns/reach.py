"""Who hears whom, one way at a time: datagrams from every host to every other.

A datagram that nobody answers says something of the way there alone. Each host has a socket of ours
in its namespace, so the packets go where those of its own processes go, while nothing runs there.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import time
from collections.abc import Collection, Mapping

from harness.cluster.capabilities import Link, Node
from harness.cluster.netns.namespaces import inside, network_of, widen

_PORT = 9
_BUFFER_BYTES = 1 << 23
_LETTER = struct.Struct("!16sHH")
_LETTER_BYTES_MAX = 64


def mailbox(pid: int, address: str) -> socket.socket:
    """A socket in the namespace of a process. It keeps that namespace alive until it is closed."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            made.bind((address, _PORT))
        except OSError:
            made.close()
            raise
        made.setblocking(False)
        widen(made, _BUFFER_BYTES)
        return made

    network = network_of(pid)
    try:
        return inside(network, make)
    finally:
        os.close(network)


def heard(
    mailboxes: Mapping[Node, socket.socket],
    links: Collection[Link],
    *,
    rounds: int,
    every_s: float,
    at_last_s: float,
) -> frozenset[Link]:
    """Those of `links` on which a datagram arrived. Blocks; the sooner over the more arrive.

    Whoever is not heard is tried again in each round; after the last one, `at_last_s` are left for
    what is still under way.
    """
    numbers = {node: number for number, node in enumerate(mailboxes)}
    nodes = tuple(mailboxes)
    missing = {link for link in links if set(link) <= mailboxes.keys()}
    wanted = frozenset(missing)
    token = os.urandom(16)
    with selectors.DefaultSelector() as selector:
        for node, box in mailboxes.items():
            selector.register(box, selectors.EVENT_READ, numbers[node])
        for turn in range(rounds):
            for source, target in missing:
                _send(
                    mailboxes, source, target, _LETTER.pack(token, *_ends(numbers, source, target))
                )
            until_s = time.monotonic() + every_s + (at_last_s if turn == rounds - 1 else 0)
            while missing and (left_s := until_s - time.monotonic()) > 0:
                for key, _ in selector.select(left_s):
                    for sender, receiver in _received(key.fileobj, token):
                        if receiver == key.data:
                            missing.discard((nodes[sender], nodes[receiver]))
            if not missing:
                break
    return wanted - missing


def _ends(numbers: Mapping[Node, int], source: Node, target: Node) -> tuple[int, int]:
    return numbers[source], numbers[target]


def _send(
    mailboxes: Mapping[Node, socket.socket], source: Node, target: Node, letter: bytes
) -> None:
    try:
        mailboxes[source].sendto(letter, mailboxes[target].getsockname())
    except OSError:
        # No way there: what is not sent does not arrive either.
        return


def _received(box: object, token: bytes) -> list[tuple[int, int]]:
    assert isinstance(box, socket.socket)
    found: list[tuple[int, int]] = []
    while True:
        try:
            letter = box.recv(_LETTER_BYTES_MAX)
        except OSError:
            return found
        if len(letter) == _LETTER.size and letter.startswith(token):
            _, source, target = _LETTER.unpack(letter)
            found.append((source, target))
