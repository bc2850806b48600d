"""What `whorl serve` demands before it listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl.cli.protection import protection
from whorl.errors import UsageError


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text("admin:a-long-secret\n")
    return file


def test_loopback_is_open_under_its_own_names() -> None:
    guarded = protection("127.0.0.1", None, ["whorl.test"], None, None)
    assert guarded.access.open
    assert guarded.hosts == ["localhost", "whorl.test"]
    assert (guarded.url("127.0.0.1", 8765), guarded.environment, guarded.extra) == ("http://127.0.0.1:8765", {}, ())


def test_elsewhere_needs_tokens(tokens: Path) -> None:
    with pytest.raises(UsageError, match="no tokens are set"):
        protection("0.0.0.0", None, None, None, None)
    guarded = protection("0.0.0.0", tokens, None, None, None)
    assert guarded.hosts == []
    assert guarded.url("0.0.0.0", 1) == "http://127.0.0.1:1"


def test_task_managers_learn_their_own_token_and_no_other(tokens: Path) -> None:
    guarded = protection("127.0.0.1", tokens, None, None, None)
    assert guarded.environment["WHORL_TOKENS"] == ""
    assert guarded.access.is_manager(guarded.environment["WHORL_TOKEN"])
    assert guarded.access.role(guarded.environment["WHORL_TOKEN"]) is None


def test_tls_takes_both_files(tmp_path: Path) -> None:
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    cert.touch()
    with pytest.raises(UsageError, match="go together"):
        protection("127.0.0.1", None, None, cert, None)
    with pytest.raises(UsageError, match="there is no file"):
        protection("127.0.0.1", None, None, cert, key)
    key.touch()
    guarded = protection("::1", None, None, cert, key)
    assert guarded.url("::1", 8765) == "https://[::1]:8765"
    assert guarded.extra == ("--ca", str(cert))
    assert guarded.uvicorn["ssl_keyfile"] == str(key)
