"""`whorl new`: a project that runs, from the files in `template/`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from whorl.errors import UsageError, WorldError

app = typer.Typer(add_completion=False)
_NAME = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,79}")
_RENAMED = {"gitignore": ".gitignore"}
"""Files that would have a meaning where the templates lie."""


@app.command(epilog="Example: whorl new shop")
def new(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder to make; may be there if it is empty.", show_default=False)
    ],
    name: Annotated[
        str | None, typer.Option(help="The pipeline's name; else the folder's.", show_default=False)
    ] = None,
) -> None:
    """Make a project that runs: a pipeline, its settings, an operator in Python, test cases and sample records."""
    name = _checked(name or folder.resolve().name)
    try:
        _refuse_full(folder)
        written = [_write(folder / path, text.replace("{{name}}", name)) for path, text in _template()]
    except OSError as error:
        hint = "name a folder that can be written"
        raise WorldError(f"'{folder}' cannot be made: {error.strerror}", hint=hint, code="disk") from None
    for path in written:
        typer.echo(f"  {path}")
    typer.echo("\nnext:")
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    typer.echo(f"  {enter}whorl test pipeline.yaml")
    typer.echo("  whorl dev pipeline.yaml")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, '.', '_' and '-': --name shop"
        raise UsageError(f"'{name}' cannot name a pipeline, since topics are named after it", hint=hint, code="name")
    return name


def _refuse_full(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"'{folder}' is not an empty folder", hint="name one that is not there yet", code="not-empty")


def _template() -> list[tuple[Path, str]]:
    return sorted(
        (path, text.read_text(encoding="utf-8")) for path, text in _files(files("whorl.cli") / "template", Path())
    )


def _files(folder: Traversable, at: Path) -> Iterator[tuple[Path, Traversable]]:
    for entry in folder.iterdir():
        path = at / _RENAMED.get(entry.name, entry.name)
        if entry.is_file():
            yield path, entry
        elif entry.name != "__pycache__":
            yield from _files(entry, path)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
