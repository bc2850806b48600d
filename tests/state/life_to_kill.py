"""A process that commits to a changelog (a file) and stores, as fast as it can, until it is killed. Run as: folder, file, seed."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgpack
from helpers_state import META

from whorl.state.disk import LmdbBackend
from whorl.state.partition import LpState

COMMIT = b"commit"


def read_log(file: Path) -> list[tuple[bytes, bytes | None]]:
    """What was committed: entries behind the last mark were not."""
    found: list[tuple[bytes, bytes | None]] = []
    committed = 0
    for entry in msgpack.Unpacker(file.open("rb")):
        if entry == COMMIT:
            committed = len(found)
        else:
            found.append(tuple(entry))
    return found[:committed]


def open_lp(folder: Path, log: list[tuple[bytes, bytes | None]]) -> LpState:
    lp = LpState(LmdbBackend(folder, 1 << 16), META)
    assert lp.position <= len(log), "the copy is never ahead of the changelog"
    lp.absorb(log[lp.position :], len(log), current=True)
    return lp


def live(folder: Path, file: Path, chance: random.Random) -> None:
    log = read_log(file)
    file.write_bytes(b"".join(map(msgpack.packb, [*log, COMMIT])))
    lp, position = open_lp(folder, log), len(log)
    table = lp.table("op", "s")
    with file.open("ab") as out:
        while True:
            for _ in range(chance.randrange(1, 200)):
                key = b"%d" % chance.randrange(2000)
                table.delete(key) if chance.random() < 0.3 else table.put(key, "v" * chance.randrange(300))
                lp.keep()
            delta = lp.delta().items()
            out.write(b"".join(map(msgpack.packb, delta)))
            out.flush()
            out.write(msgpack.packb(COMMIT))
            out.flush()
            position += len(delta)
            lp.store(position)
            print(position, flush=True)


if __name__ == "__main__":
    live(Path(sys.argv[1]), Path(sys.argv[2]), random.Random(int(sys.argv[3])))
