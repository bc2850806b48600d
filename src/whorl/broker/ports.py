"""Ports on loopback."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import closing

from whorl.errors import UsageError, WorldError

HOST = "127.0.0.1"
# Below the range that systems give to outgoing connections: there, a client that keeps trying a dead broker's port may
# be given that very port, connect to itself, and keep the broker from coming back.
_RANGE = range(20_000, 32_000)


def is_free(port: int) -> bool:
    with closing(socket.socket()) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port(taken: set[int]) -> int:
    """One that is free now and not among `taken`."""
    choice = random.Random()
    while True:
        port = choice.choice(_RANGE)
        if port not in taken and is_free(port):
            return port


def accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def assign(count: int, first: int | None, preferred: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(port, controller port) for each node: the given ones or an error, the preferred ones if free, else free ones."""
    if first is not None and not 0 < first <= 65_536 - count:
        raise UsageError(f"port {first} is out of range for {count} nodes", code="port")
    taken = set(range(first, first + count)) if first is not None else set()
    for port in sorted(taken):
        if not is_free(port):
            in_use = f"port {port} is in use by another process"
            raise WorldError(in_use, code="port-in-use", hint="stop that one, or name another with --port")

    def choose(wish: int | None) -> int:
        port = wish if wish is not None and wish not in taken and is_free(wish) else free_port(taken)
        taken.add(port)
        return port

    wishes: Sequence[tuple[int | None, int | None]] = preferred or [(None, None)] * count
    return [
        (choose(port) if first is None else first + at, choose(controller))
        for at, (port, controller) in enumerate(wishes)
    ]
