"""The ear of a host: hears datagrams of the others, and on order sends some to each of them.

It is copied to hosts and run by whatever Python they have, so it imports nothing of ours. A
datagram says `token name`. The first part of the token is a secret that only this run's ears share;
the rest tells one look from the next. Clients have no fixed address: who calls itself `clients` is
answered where it was last heard from, which is also right behind a router that translates.

    ear.py NAME SECRET PORT ORDERS HEARD PEER=ADDRESS...
"""

import os
import select
import socket
import sys
import time

CLIENTS = "clients"
ROUNDS = 5
ROUND_S = 0.04
LETTER_BYTES_MAX = 200
WORDS = 2


def main() -> None:
    name, secret, port, orders, heard = sys.argv[1:6]
    targets = {
        peer: (address, int(port)) for peer, address in (word.split("=") for word in sys.argv[6:])
    }
    box = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    box.bind(("", int(port)))
    os.mkfifo(orders)
    # Also for writing, or it would end with the first who gives an order.
    order = os.open(orders, os.O_RDWR)
    with open(heard, "a", buffering=1) as file:  # noqa: PTH123 - of whatever Python there is
        os.write(1, b"listening\n")
        while True:
            ready = select.select([box.fileno(), order], [], [])[0]
            if box.fileno() in ready:
                letter, source = box.recvfrom(LETTER_BYTES_MAX)
                words = letter.decode(errors="replace").split()
                if len(words) == WORDS and words[0].startswith(secret):
                    if words[1] == CLIENTS:
                        targets[CLIENTS] = source
                    file.write(f"{words[0]} {words[1]} {source[0]}\n")
            if order in ready:
                for token in os.read(order, 4096).decode().split():
                    tell(box, f"{token} {name}".encode(), list(targets.values()))


def tell(box: socket.socket, letter: bytes, targets: list[tuple[str, int]]) -> None:
    for _ in range(ROUNDS):
        for target in targets:
            try:
                box.sendto(letter, target)
            except OSError:
                # The firewall refuses, or there is no way: what is not sent does not arrive.
                continue
        time.sleep(ROUND_S)


if __name__ == "__main__":
    main()
