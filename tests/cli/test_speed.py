"""What a user waits for when nothing runs yet."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

COUNT = 200
MOST = 7
"""Times `whorl --help`. Seen on a busy machine: 5.0 to 5.5. Importing sqlglot and pydantic alone takes as long as `--help` and half of it again."""


def _once(folder: Path, *words: str) -> float:
    """Seconds of the processor, which other programs on the machine do not lengthen much. Compiled modules are kept, as in an installation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "whorl", *words]
    own = {"NO_COLOR": "1", "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **own})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_check_of_two_hundred_operators_takes_a_few_times_as_long_as_help(tmp_path: Path) -> None:
    kinds = ("type: filter, where: a > {n}", "type: map, columns: {{b: a + {n}}}", "type: select, columns: [a, b]")
    operators = "\n".join(f"  - {{id: o{n}, {kinds[n % 3].format(n=n)}}}" for n in range(COUNT))
    (tmp_path / "big.yaml").write_text(
        "name: big\nsources: {in: {type: kafka, topic: in, schema: {a: long, b: long}}}\n"
        f"operators:\n{operators}\nsinks: {{out: {{type: kafka, topic: out}}}}\n"
    )
    pairs = [(_once(tmp_path, "--help"), _once(tmp_path, "check", "big.yaml")) for _ in range(5)][1:]
    least, whole = (min(each) for each in zip(*pairs, strict=True))
    assert whole < MOST * least, f"{whole:.2f} s, and --help takes {least:.2f} s"
