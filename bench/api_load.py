"""Clients that ask one route again and again, each over a connection of its own: how long the slow ones take.

They read answers by their length and look at nothing else, so that the client costs little beside the server.
"""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urlsplit

from bench.failures import BenchFailed


def p95(url: str, path: str, clients: int, seconds: float) -> float:
    """Seconds; the first tenth of the time is left out."""
    times = sorted(asyncio.run(_all(url, path, clients, seconds)))
    return times[int(len(times) * 0.95)]


async def _all(url: str, path: str, clients: int, seconds: float) -> list[float]:
    begun = time.perf_counter()
    asked = await asyncio.gather(*(_client(url, path, begun + seconds) for _ in range(clients)))
    return [took for times in asked for at, took in times if at > begun + seconds / 10]


async def _client(url: str, path: str, until: float) -> list[tuple[float, float]]:
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    request = f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode()
    times = []
    try:
        while (begun := time.perf_counter()) < until:
            writer.write(request)
            await _answer(reader)
            times.append((begun, time.perf_counter() - begun))
    finally:
        writer.close()
    return times


async def _answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise BenchFailed(f"the server answered {head[:100]!r}")
    length = head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]
    await reader.readexactly(int(length))
