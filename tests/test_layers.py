"""Which module may import which. A lower rung never imports a higher one, and nothing is imported behind a function's back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
LADDER = (
    {"masking"},
    {"errors", "histogram", "log", "pace", "schema", "units"},
    {"jvm", "formats", "state"},
    {"operators"},
    {"config", "graph"},
    {"flow"},
    {"plan"},
    {"kafka", "broker"},
    {"sinks", "offsets", "schemas"},
    {"spark"},
    {"tasks"},
    {"query"},
    {"testing"},
    {"savepoints"},
    {"jobs"},
    {"reading", "processor", "pipelines", "feedback"},
    {"server"},
    {"manager"},
    {"cli"},
    {"__main__"},
)
RUNG = {name: height for height, names in enumerate(LADDER) for name in names}
OWNERS = {
    "pyspark": (
        "whorl.spark",
        "whorl.query",
        "whorl.tasks.host",
        "whorl.tasks.clients",
        "whorl.savepoints",
        "whorl.jobs.cleaning",
        "whorl.jobs.interlude",
        "whorl.jobs.job",
        "whorl.jobs.lending",
        "whorl.jobs.members",
        "whorl.jobs.queries",
        "whorl.jobs.resume",
        "whorl.jobs.runner",
        "whorl.jobs.session",
        "whorl.reading.frame",
        "whorl.reading.queries",
        "whorl.manager.work",
        "whorl.processor",
    ),
    "confluent_kafka": (
        "whorl.kafka",
        "whorl.broker",
        "whorl.sinks",
        "whorl.offsets",
        "whorl.tasks",
        "whorl.query",
        "whorl.testing",
        "whorl.processor",
        "whorl.cli",
    ),
    "typer": ("whorl.cli",),
    "rich": ("whorl.cli",),
    "watchfiles": ("whorl.cli",),
    "yaml": ("whorl.config",),
    "sqlglot": ("whorl.operators.expressions", "whorl.operators.sql"),
    "fastavro": ("whorl.formats",),
    "lmdb": ("whorl.state.disk",),
    "pandas": ("whorl.query",),
    "pyarrow": (
        "whorl.query",
        "whorl.savepoints.frames",
        "whorl.savepoints.hosts",
        "whorl.reading.arrow",
        "whorl.reading.frame",
        "whorl.reading.queries",
        "whorl.operators.keyed",
    ),  # keyed: for its types alone
    "numpy": ("whorl.operators.graphs", "whorl.query"),
    "kazoo": ("whorl.offsets.zookeeper", "whorl.server.election"),
    "redis": ("whorl.offsets.redis", "whorl.operators.builtin.redis_once"),
    "fastapi": ("whorl.server",),
    "uvicorn": ("whorl.cli.serve",),
    "httpx": ("whorl.manager.client", "whorl.cli"),
}


def _name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


class _Running(ast.NodeTransformer):
    """What only type checkers read is never imported."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node


TREES = {
    _name(file): _Running().visit(ast.parse(file.read_text("utf-8")))
    for file in sorted((SOURCE / "whorl").rglob("*.py"))
}


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of all that is imported; `from a import b` is `a.b` where that is a module of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, name if name in TREES else str(node.module)) for name in names)


IMPORTS = {module: set(_imported(tree)) for module, tree in TREES.items()}
OWN = {module: {name for _, name in imports if name in TREES} for module, imports in IMPORTS.items()}
PAIRS = [(module, name) for module, names in OWN.items() for name in names]


def _part(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def _rung(module: str) -> int:
    """The door stands as high as the operators that it shows: whoever is above them may `import whorl`."""
    return RUNG[_part(module) or "operators"]


def test_a_module_imports_nothing_from_a_higher_rung() -> None:
    assert not [pair for pair in PAIRS if _rung(pair[1]) > _rung(pair[0])]


def test_parts_of_one_rung_do_not_import_each_other() -> None:
    parts = [(module, name) for module, name in PAIRS if "whorl" not in (module, name)]
    assert not [(m, n) for m, n in parts if _rung(m) == _rung(n) and _part(m) != _part(n)]


def test_no_module_imports_itself_by_way_of_others() -> None:
    TopologicalSorter(OWN).prepare()  # raises CycleError, which names them


def test_nothing_is_imported_inside_a_function() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inner = [(module, node) for module, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, functions)]
    assert not [(module, *found) for module, function in inner for found in _imported(function)]


@pytest.mark.parametrize("package", OWNERS)
def test_a_package_is_imported_only_where_it_belongs(package: str) -> None:
    users = {module for module, imports in IMPORTS.items() for _, name in imports if name.split(".")[0] == package}
    assert not [user for user in users if not any(f"{user}.".startswith(f"{owner}.") for owner in OWNERS[package])]
