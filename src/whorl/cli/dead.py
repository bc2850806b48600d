"""`whorl dead`: records that failed, and their way back to where they came from."""

from __future__ import annotations

from collections import deque
from typing import Annotated

import typer

from whorl.cli.letters import Letter, Letters, find_letters
from whorl.cli.options import BrokerOption, Config, Profile, Sets
from whorl.cli.replay import Replay, rehearse, replay
from whorl.cli.shown import as_data, as_text, dumped
from whorl.cli.table import count, table

app = typer.Typer(add_completion=False, no_args_is_help=True, help="List and replay records that failed.")
Of = Annotated[
    str,
    typer.Argument(metavar="FILE|NAME", help="Pipeline file, pipeline name or dead-letter topic.", show_default=False),
]
Operator = Annotated[
    str | None, typer.Option("--operator", metavar="ID", help="Only those that failed in it.", show_default=False)
]
_WIDEST = 48


@app.command("list", epilog="Example: whorl dead list pipeline.yaml --count 20")
def list_(
    of: Of,
    count_: Annotated[
        int | None, typer.Option("--count", metavar="N", min=0, help="The last N at most.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Each as a line of JSON, whole.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Those too that were replayed.")] = False,
    operator: Operator = None,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """List the records that failed and were not replayed."""
    letters = find_letters(of, broker, profile, set_ or (), config)
    total, shown = 0, deque[Letter](maxlen=count_)
    for letter in letters.all() if all_ else letters.waiting():
        if operator in (None, letter.operator):
            total += 1
            shown.append(letter)
    if json:
        for letter in shown:
            typer.echo(_as_json(letter))
        return
    if shown:
        typer.echo(table(("POSITION", "OPERATOR", "ERROR", "KEY", "VALUE"), map(_row, shown)))
    typer.echo(f"{len(shown)} of {count(total, 'dead record')} in '{letters.topic}'")


@app.command("replay", epilog="Example: whorl dead replay pipeline.yaml --operator priced --dry-run")
def replay_(
    of: Of,
    operator: Operator = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Send the records that failed back to the topics they came from, each once, all or none."""
    letters = find_letters(of, broker, profile, set_ or (), config)
    done = (rehearse if dry_run else replay)(letters, operator)
    for line in _told(done, letters, dry_run):
        typer.echo(line)


def _told(done: Replay, letters: Letters, dry_run: bool) -> list[str]:
    would = "would go" if dry_run else "went"
    lines = [f"{count(number, 'record')} {would} back to '{topic}'" for topic, number in sorted(done.sent.items())]
    lines += (
        [
            f"{count(done.left, 'record')} cannot go back: of a timer, of a source that is no topic, or too large to be kept whole"
        ]
        if done.left
        else []
    )
    return lines or [f"nothing to replay in '{letters.topic}'"]


def _row(letter: Letter) -> tuple[str, ...]:
    return (
        letter.position,
        letter.operator,
        _short(letter.error),
        _short(as_text(letter.key)),
        _short(as_text(letter.value)),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…"


def _as_json(letter: Letter) -> str:
    return dumped(
        {
            "position": letter.position,
            "operator": letter.operator,
            "error": letter.error,
            "key": None if letter.key is None else as_text(letter.key),
            "value": as_data(letter.value),
            "headers": [[name, None if value is None else as_text(value)] for name, value in letter.headers],
        }
    )
