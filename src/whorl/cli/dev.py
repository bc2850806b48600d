"""`whorl dev`: a broker, a pipeline, and the pipeline anew whenever a file beside it changes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from watchfiles import watch

from whorl.broker import DEFAULT_FOLDER, Broker
from whorl.cli.broker import waiting
from whorl.cli.options import BrokerOption, Config, PipelineFile, Profile, Sets
from whorl.config.loader import Loaded, load
from whorl.flow.check import check

app = typer.Typer()
_WATCHED = (".yaml", ".yml", ".json", ".py", ".sql")


@app.command()
def dev(
    file: PipelineFile,
    keep: Annotated[bool, typer.Option(help="Leave the broker running at the end.")] = False,
    broker: BrokerOption = None,
    profile: Profile = None,
    set_: Sets = None,
    config: Config = None,
) -> None:
    """Start a broker, run a pipeline, and run it anew whenever its files change. Example: whorl dev pipeline.yaml"""
    console = Console(highlight=False, soft_wrap=True)
    given = [*(set_ or []), *([f"broker={broker}"] if broker else [])]
    loaded = load(file, profile=profile, overrides=given, config=config)
    own = None if loaded.settings.broker else _start_broker(console)
    arguments = [
        str(file),
        *_repeated("--set", given),
        *_repeated("--profile", [profile]),
        *_repeated("--config", [config]),
    ]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    reload = partial(load, file, profile=profile, overrides=given, config=config)
    try:
        _run_and_watch(console, file, arguments, reload)
    finally:
        if own and not keep:
            own.stop()
            console.print("broker stopped")


def _start_broker(console: Console) -> Broker | None:
    """None where one runs already: it is not ours to stop."""
    if Broker.find(DEFAULT_FOLDER):
        return None
    with waiting("starting the broker") as progress:
        broker = Broker.start(DEFAULT_FOLDER, progress=progress)
    console.print(f"broker at {broker.address}")
    return broker


def _run_and_watch(console: Console, file: Path, arguments: list[str], reload: Callable[[], Loaded]) -> None:
    """A child process runs the pipeline, so that changed code is imported anew."""
    child = _start(arguments)
    try:
        for changes in watch(file.resolve().parent, watch_filter=lambda _, path: path.endswith(_WATCHED)):
            console.print(f"changed: {', '.join(sorted(Path(path).name for _, path in changes))}")
            findings = check(reload())
            if findings:
                console.print("\n".join(map(str, findings)), markup=False)
                continue
            _stop(child)
            child = _start(arguments)
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        _stop(child)


def _start(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "whorl", "run", *arguments], start_new_session=True)


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
        child.wait()


def _repeated(option: str, values: Sequence[object]) -> list[str]:
    return [part for value in values if value is not None for part in (option, str(value))]
