from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

Whorl = Callable[..., tuple[int, str, str]]


def test_the_project_is_sound_and_the_next_two_commands_are_told(whorl: Whorl, folder: Path) -> None:
    code, out, _ = whorl("new", "shop")
    assert code == 0
    assert out.splitlines()[-2:] == ["  cd shop && whorl test pipeline.yaml", "  whorl dev pipeline.yaml"]
    made = {str(path.relative_to(folder / "shop")) for path in (folder / "shop").rglob("*") if path.is_file()}
    assert made >= {
        "pipeline.yaml",
        "whorl.yaml",
        "steps.py",
        "pipeline.test.yaml",
        "data/sample.jsonl",
        "README.md",
        ".gitignore",
    }
    assert not [path for path in (folder / "shop").rglob("*") if path.is_file() and "{{" in path.read_text()]


def test_the_project_passes_check_and_plan_in_every_profile(
    whorl: Whorl, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whorl("new", "shop")
    monkeypatch.chdir(folder / "shop")
    for profile in ("local", "staging"):
        code, out, err = whorl("check", "pipeline.yaml", "--profile", profile)
        assert (code, err) == (0, ""), out
        assert "pipeline 'shop'" in whorl("plan", "pipeline.yaml", "--profile", profile)[1]


def test_the_cases_name_sources_and_sinks_of_the_pipeline(whorl: Whorl, folder: Path) -> None:
    whorl("new", "shop")
    pipeline = yaml.safe_load((folder / "shop" / "pipeline.yaml").read_text())
    for case in yaml.safe_load((folder / "shop" / "pipeline.test.yaml").read_text())["cases"]:
        assert set(case) == {"name", "input", "expect"}
        assert set(case["input"]) <= set(pipeline["sources"])
        assert set(case["expect"]) <= set(pipeline["sinks"])


def test_a_name_can_be_given(whorl: Whorl, folder: Path) -> None:
    assert whorl("new", "odd name", "--name", "fine")[0] == 0
    assert "topic: fine.orders" in (folder / "odd name" / "pipeline.yaml").read_text()


def test_this_folder_will_do_if_it_is_empty(whorl: Whorl, folder: Path) -> None:
    code, out, _ = whorl("new", ".", "--name", "here")
    assert code == 0
    assert out.splitlines()[-2] == "  whorl test pipeline.yaml"


def test_what_is_there_is_not_touched(whorl: Whorl, folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "mine.txt").write_text("mine")
    code, _, err = whorl("new", "shop")
    assert code == 2
    assert "'shop' is not an empty folder" in err
    assert [path.name for path in (folder / "shop").iterdir()] == ["mine.txt"]


def test_a_name_that_no_topic_could_have_is_refused(whorl: Whorl) -> None:
    code, _, err = whorl("new", "odd name")
    assert code == 2
    assert "'odd name' cannot name a pipeline" in err
