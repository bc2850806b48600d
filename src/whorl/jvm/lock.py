"""`python -m whorl.jvm.lock` makes `jars.lock.json` anew: follows dependencies, notes each jar's checksum and size."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from whorl.errors import WorldError
from whorl.jvm.ivy import SEPARATOR, closure
from whorl.jvm.jars import LOCK, SETS, JarSet, sha256

Pins = dict[str, dict[str, str | int]]


def write_lock(sets: Iterable[JarSet], lock: Path) -> None:
    pinned = {jars.name: pin(jars) for jars in sets}
    lock.write_text(json.dumps(pinned, indent=1) + "\n")


def pin(jars: JarSet) -> Pins:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        account = closure(jars.coordinates, jars.transitive, jars.excludes, out)
        pins: Pins = {
            _coordinate(jar): {"sha256": sha256(jar), "size": jar.stat().st_size} for jar in sorted(out.glob("*.jar"))
        }
    if lost := set(jars.coordinates) - set(pins):
        raise WorldError(f"'{jars.name}' lacks {sorted(lost)}:\n{account}", code="jars-unavailable")
    return pins


def _coordinate(jar: Path) -> str:
    return jar.stem.replace(SEPARATOR, ":")


if __name__ == "__main__":
    write_lock(SETS, LOCK)
