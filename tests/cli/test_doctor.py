from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.broker import Broker
from whorl.cli import checkups

Whorl = Callable[..., tuple[int, str, str]]


def levels(out: str) -> dict[str, str]:
    lines = [line for line in out.splitlines() if line[:1].strip()]
    return {line[6:22].strip(): line.split()[0] for line in lines}


@pytest.fixture(autouse=True)
def plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own memory and disk must not decide a test."""
    monkeypatch.setattr(checkups, "_MEMORY", (0, 0))
    monkeypatch.setattr(checkups, "_DISK", (0, 0))


@pytest.mark.kafka
def test_a_healthy_machine(whorl: Whorl, broker: Broker) -> None:
    code, out, _ = whorl("doctor", "--broker", broker.address)
    assert code == 0, out
    found = levels(out)
    assert {"python", "java", "spark", "connector jars", "broker jars", "memory", "disk", "ports"} <= set(found)
    assert (found["broker"], found["transactions"]) == ("ok", "ok")


@pytest.mark.kafka
def test_a_transaction_timeout_that_the_broker_refuses(whorl: Whorl, broker: Broker, folder: Path) -> None:
    (folder / "whorl.yaml").write_text(f"broker: {broker.address}\ntransaction_timeout: 1h\n")
    code, out, _ = whorl("doctor")
    assert (code, levels(out)["transactions"]) == (3, "fail")
    assert "→ lower 'transaction_timeout'" in out


def test_a_broker_that_does_not_answer(whorl: Whorl) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        code, out, _ = whorl("doctor", "--broker", f"127.0.0.1:{unused.getsockname()[1]}")
    assert (code, levels(out)["broker"]) == (3, "fail")
    assert "1 thing to mend" in out


def test_no_broker_at_all_is_only_a_warning(whorl: Whorl) -> None:
    code, out, _ = whorl("doctor")
    assert (code, levels(out)["broker"]) == (0, "warn")
    assert "whorl broker start" in out


def test_java_jars_and_room_that_are_missing(whorl: Whorl, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_CACHE", str(folder / "cache"))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("whorl.jvm.java.find_spec", lambda name: None)
    monkeypatch.setattr(checkups, "_MEMORY", (1 << 60, 1 << 60))
    monkeypatch.setattr(checkups, "_DISK", (0, 1 << 60))
    code, out, _ = whorl("doctor")
    found = levels(out)
    assert code == 3
    assert (found["java"], found["memory"], found["disk"]) == ("fail", "fail", "warn")
    assert (found["connector jars"], found["broker jars"]) == ("warn", "warn")
    assert "→ install one and set JAVA_HOME" in out


def test_a_damaged_jar_is_named(whorl: Whorl, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_CACHE", str(folder))
    (pin, *_) = checkups.pins_of(checkups.CONNECTOR)
    (folder / "jars").mkdir()
    (folder / "jars" / pin.file).write_bytes(b"half")
    code, out, _ = whorl("doctor")
    assert (code, levels(out)["connector jars"]) == (3, "fail")
    assert pin.file in out


def test_wrong_settings_are_told(whorl: Whorl, folder: Path) -> None:
    (folder / "whorl.yaml").write_text("tasks: many\n")
    code, out, _ = whorl("doctor")
    assert (code, levels(out)["settings"]) == (3, "fail")
    assert "whorl.yaml:1:8" in out
