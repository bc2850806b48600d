from __future__ import annotations

from pathlib import Path

import pytest

from whorl.errors import UsageError, WorldError
from whorl.server.bundles import Bundles, Submission, unpack


def test_a_bundle_is_the_pipeline_with_its_code_and_the_settings_in_force(folder: Path) -> None:
    (folder / "project" / "below" / ".git").mkdir(parents=True)
    (folder / "project" / "__pycache__").mkdir()
    (folder / "whorl.yaml").write_text("tasks: 3")
    for name in ("p.yaml", "mine.py", "below/more.py", "data.parquet", "__pycache__/old.py", "below/.git/hidden.py"):
        (folder / "project" / name).write_text(name)
    submission = Submission.of(folder / "project" / "p.yaml")
    assert sorted(submission.files) == ["below/more.py", "mine.py", "p.yaml", "whorl.yaml"]


def test_the_same_contents_are_kept_once_and_come_back_as_they_were(tmp_path: Path) -> None:
    bundles = Bundles(tmp_path / "bundles")
    files = {"p.yaml": b"name: p", "a/b.py": b"x = 1"}
    name = bundles.keep(Submission("p.yaml", files))
    assert bundles.keep(Submission("p.yaml", dict(reversed(files.items())))) == name
    assert bundles.keep(Submission("p.yaml", {**files, "a/b.py": b"x = 2"})) != name
    unpack(bundles.packed(name), tmp_path / "out")
    assert (tmp_path / "out" / "a" / "b.py").read_bytes() == b"x = 1"
    bundles.delete(name)
    with pytest.raises(WorldError, match="is gone"):
        bundles.packed(name)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up.py", "a/../../b.py", "a\\b.py", "", "x" * 501, "a\0b"])
def test_no_file_leaves_its_folder(path: str) -> None:
    with pytest.raises(UsageError, match="cannot name a file"):
        Submission("p.yaml", {"p.yaml": b"", path: b""})


def test_the_pipeline_is_among_the_files() -> None:
    with pytest.raises(UsageError, match=r"'q.yaml' is not among"):
        Submission("q.yaml", {"p.yaml": b""})
