"""The documentation says what is true: pages made from code are current, links lead somewhere, names exist, pipelines check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import typer
from docs.codes import COMMANDS, GENERAL, PREFLIGHT, RUNNING, SERVER, TESTING
from docs.models import value_of
from docs.reference import EXAMPLES, WITHOUT_EFFECT
from docs.settings import TESTS, UNITS, is_number, leaves

from whorl.cli.main import VERBS
from whorl.config.codes import CODES
from whorl.config.loader import load
from whorl.config.settings import Settings
from whorl.flow.check import check
from whorl.operators.registry import OPERATORS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "whorl"
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")]
)
DECLARATIVE = ("config", "flow", "operators", "formats")
"""Parts whose codes are those of `check`."""
OTHERS = {
    "refunds": "  refunds: {type: kafka, topic: refunds}\n",
    "customers": "  customers: {type: file, path: c, format: orc, static: true, schema: {account: string, name: string}}\n",
}
"""Sources that examples of operators read beside `payments`."""
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def by_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text("utf-8")) for file in sorted(SOURCE.rglob("*.py"))}


def names_in(tree: ast.AST) -> Iterator[str]:
    """`f`, `C` and `C.m` of all functions and classes, and assigned names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{inner}" for inner in names_in(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_pages_made_from_code_are_current() -> None:
    done = subprocess.run([sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_links_lead_to_files_and_to_names_defined_there(page: Path) -> None:
    for text, target in LINK.findall(page.read_text("utf-8")):
        if target.startswith(("http", "#")):
            continue
        file = (page.parent / target.partition("#")[0]).resolve()
        assert file.exists(), f"{text}: {target}"
        if file.suffix == ".py" and text.startswith("`") and not text.endswith(".py`"):
            assert text.strip("`") in set(names_in(trees()[file])), f"{file} defines no {text}"


def test_the_life_of_a_record_passes_every_stage() -> None:
    text = (ROOT / "docs" / "life-of-a-record.md").read_text("utf-8")
    stages = {Path(target).parts[3] for _, target in LINK.findall(text) if target.startswith("../src/whorl/")}
    assert {
        "cli",
        "config",
        "flow",
        "plan",
        "jobs",
        "spark",
        "tasks",
        "query",
        "operators",
        "formats",
        "sinks",
        "kafka",
    } <= stages


def codes_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            given += node.args[:1] if isinstance(node.func, ast.Name) and node.func.id == "Finding" else []
            yield from (value.value for value in given if isinstance(value, ast.Constant))
        elif isinstance(node, ast.ClassDef):
            fields = [
                each for each in node.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "code"
            ]
            yield from (ast.literal_eval(field.value) for field in fields)


def test_every_code_is_documented_and_no_other() -> None:
    told = {*PREFLIGHT, *RUNNING, *COMMANDS, *SERVER, *TESTING, *GENERAL}
    parts = {file: file.relative_to(SOURCE).parts[0] for file in trees()}
    elsewhere = {code for file, tree in trees().items() if parts[file] not in DECLARATIVE for code in codes_in(tree)}
    declarative = {code for file, tree in trees().items() if parts[file] in DECLARATIVE for code in codes_in(tree)}
    assert elsewhere - set(CODES) == told - set(CODES)
    assert declarative <= set(CODES)


def test_settings_without_effect_are_those_that_nothing_reads() -> None:
    """Read as an attribute, or by name where the job server keeps them as plain values."""
    nodes = [
        node
        for file, tree in trees().items()
        if file.relative_to(SOURCE).parts[0] != "config"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and "settings" in ast.unparse(node.value))
        or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("settings.get"))
    ]
    read = {node.attr if isinstance(node, ast.Attribute) else ast.literal_eval(node.args[0]) for node in nodes}
    assert set(Settings.model_fields) - read == set(WITHOUT_EFFECT)


def test_every_setting_has_a_default_a_unit_and_a_test() -> None:
    """A default, since whorl.yaml may be empty; a unit, where it is a number; and a test that shows that it takes effect."""
    settings = dict(leaves())
    assert not [name for name, field in settings.items() if field.is_required() or not field.description]
    numbers = {name for name, field in settings.items() if is_number(field)}
    plain = {
        name
        for name in numbers
        if "duration" not in value_of(settings[name]) and "size" not in value_of(settings[name])
    }
    assert plain - {"trigger"} == set(UNITS)
    assert set(settings) - set(TESTS) == set(WITHOUT_EFFECT) - {"engine"}
    for name, test in TESTS.items():
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(), name


def test_every_operator_has_an_example() -> None:
    assert set(EXAMPLES) == set(OPERATORS)


@pytest.mark.parametrize("type", EXAMPLES)
def test_the_example_of_an_operator_checks(type: str, tmp_path: Path) -> None:
    columns = "{account: string, amount: double, country: string, tags: array<string>}"
    outputs = [".large", ".small"] if type == "branch" else [""]
    id = re.search(r"id: (\w+)", EXAMPLES[type])[1]  # type: ignore[index]
    other = "".join(source for name, source in OTHERS.items() if name in EXAMPLES[type])
    (tmp_path / "judging.py").write_text("def judge(row):\n    return row\n")
    (tmp_path / "p.yaml").write_text(
        f"sources:\n  payments: {{type: kafka, topic: payments, schema: {columns}}}\n{other}"
        f"operators:\n  - {EXAMPLES[type]}\n"
        f"sinks: {{out: {{type: list, from: [{', '.join(id + output for output in outputs)}]}}}}\n"
    )
    assert check(load(tmp_path / "p.yaml")) == []


def modules(page: Path) -> Iterator[tuple[str, str]]:
    """Python in a page that begins with the name of its file."""
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", text)):
            yield name[1], text


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_whole_pipelines_in_pages_check(page: Path, tmp_path: Path) -> None:
    for code in (ROOT / "examples").glob("*/*.py"):
        (tmp_path / code.name).write_text(code.read_text())
    for name, text in modules(page):
        (tmp_path / name).write_text(text)
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "yaml" and re.search("^sources:", text, re.MULTILINE):
            (tmp_path / "p.yaml").write_text(text)
            assert check(load(tmp_path / "p.yaml")) == []


def test_the_readme_shows_examples_as_they_are() -> None:
    examples = {
        language: [file.read_text() for file in sorted((ROOT / "examples").glob(f"*/*{suffix}"))]
        for language, suffix in (("yaml", ".yaml"), ("python", ".py"))
    }
    blocks = [block for block in BLOCK.findall((ROOT / "README.md").read_text("utf-8")) if block[0] in examples]
    assert [language for language, _ in blocks] == ["yaml", "python", "yaml"]
    assert all(text in examples[language] for language, text in blocks)


def commands(page: Path) -> Iterator[list[str]]:
    """`whorl …` in code, as words up to a comment or the end of its code."""
    text = page.read_text("utf-8")
    quoted = [text[match.start(1) : match.end(1)] for match in re.finditer(r"`(whorl [^`\n]+)`", text)]
    lines = re.findall(
        r"^(?:    |\$ |.*\| )?(whorl [^\n]+)", "\n".join(block for _, block in BLOCK.findall(text)), re.MULTILINE
    )
    for command in (*quoted, *lines):
        yield command.partition("#")[0].split()[1:]


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_commands_in_pages_exist(page: Path) -> None:
    for verb, *rest in commands(page):
        if verb.isalpha() and verb.islower():
            assert verb in VERBS, f"whorl {verb} {rest}"
            below, known = words_of(verb)
            assert not below or not rest or set(re.split(r"[\\|]+", rest[0])) <= below | known, (verb, rest)
            assert {word.split("=")[0] for word in rest if word.startswith("--")} <= known, (verb, rest)


@cache
def words_of(verb: str) -> tuple[set[str], set[str]]:
    """The verbs below a verb, and all options."""
    command = typer.main.get_command(import_module(f"whorl.cli.{verb}").app)
    below = getattr(command, "commands", {})
    options = {word for each in (command, *below.values()) for option in each.params for word in option.opts}
    return set(below), options | {"--help"}
