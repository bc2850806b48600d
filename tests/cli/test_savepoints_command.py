"""`whorl savepoints`, and what the verbs say of a savepoint, wherever it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whorl.cli.pipelines import saved
from whorl.config.framework import framework_settings, named
from whorl.errors import CheckFailed
from whorl.savepoints.manifest import MANIFEST, Manifest

Whorl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def elsewhere(folder: Path) -> Path:
    """A savepoint where whorl.yaml does not look."""
    place = folder / "elsewhere" / "orders" / "late"
    place.mkdir(parents=True)
    manifest = Manifest("late", "orders", "u", 0.0, "1", "orders.yaml", "f", 0, {})
    (place / MANIFEST).write_bytes(manifest.encode())
    return place


def test_savepoints_are_where_set_says(whorl: Whorl, elsewhere: Path) -> None:
    assert whorl("savepoints", "list")[1] == "0 savepoints in '.whorl/savepoints'\n"
    assert "orders/late" in whorl("savepoints", "list", "--set", "savepoints=elsewhere")[1]
    code, out, _ = whorl("savepoints", "delete", "orders/late", "--set", "savepoints=elsewhere")
    assert code == 0 and out.startswith("deleted savepoint 'late' of 'orders'")
    assert not elsewhere.exists()


def test_a_savepoint_is_named_so_that_it_is_found_whatever_is_set(whorl: Whorl, elsewhere: Path) -> None:
    done = {"name": "late", "components": 1, "entries": 2, "records": 0, "bytes": 9, "seconds": 1.0}
    told = saved("orders", {**done, "folder": f"file:{elsewhere}"})
    assert told.endswith(f"resume from it: whorl resume file:{elsewhere}")
    assert whorl("savepoints", "delete", f"file:{elsewhere}")[0] == 0


def test_what_is_set_counts_also_where_only_a_name_is_given(folder: Path) -> None:
    assert framework_settings(overrides=["savepoints=elsewhere"]).savepoints == "elsewhere"
    assert named("orders", overrides=["savepoints=elsewhere"]).settings.savepoints == "elsewhere"
    with pytest.raises(CheckFailed, match="savepionts"):
        framework_settings(overrides=["savepionts=elsewhere"])
