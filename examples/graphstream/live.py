"""Rings that grow together while links come in: what the demo shows of this example."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from graphstream.generate import links
from graphstream.rings import Rings, Table, batch
from rich.console import Console
from rich.live import Live
from rich.table import Table as Shown

PIPELINE = str(Path(__file__).parent / "pipeline.yaml")
WAVES = (300, 700, 1_200, 1_800, 3_000)
"""How many links there are after each."""
PARTITIONS = 4
PATIENCE_S = 90


def watch(address: str, folder: Path, console: Console) -> tuple[bool, str]:
    """Runs the pipeline, sends links in waves, and waits each time until the table has the rings that there are then."""
    given = list(links(WAVES[-1]))
    shown = Shown(title="topic 'rings', while links come in", title_justify="left")
    for name in ("links", "accounts", "rings", "the largest"):
        shown.add_column(name, justify="right")
    _whorl("topics", "create", "links", "--partitions", str(PARTITIONS), "--broker", address)
    command = [sys.executable, "-m", "whorl", "run", PIPELINE, "--broker", address]
    console.print(f"\n[bold cyan]$ whorl run {PIPELINE}[/]")
    with (folder / "graphstream.log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with Live(shown, console=console):
            right = _waves(given, Table(address, "rings", PARTITIONS), running, shown, address, folder)
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(60)
    console.print()  # where there is no terminal, the table ends without one
    rings = len(set(batch(given).values()))
    return right, f"{len(given)} links in, {rings} rings, {'as' if right else 'NOT as'} a batch computation has them"


def _waves(given: list, table: Table, running: subprocess.Popen, shown: Shown, address: str, folder: Path) -> bool:
    def check() -> None:
        if running.poll() is not None:
            raise RuntimeError(f"the pipeline ended: {(folder / 'graphstream.log').read_text()[-2000:]}")

    right, before = True, 0
    for until in WAVES:
        part = folder / f"links-{until}.jsonl"
        part.write_text("".join(json.dumps(link) + "\n" for link in given[before:until]))
        _whorl("produce", "links", str(part), "--key", "one", "--broker", address)
        right &= table.until(batch(given[:until]), PATIENCE_S, check)
        shown.add_row(f"{until:,}", *_figures(table.rings))
        before = until
    table.close()
    return right


def _figures(rings: Rings) -> tuple[str, str, str]:
    sizes = Counter(rings.values())
    return f"{len(rings):,}", f"{len(sizes):,}", f"{max(sizes.values(), default=0):,}"


def _whorl(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "whorl", *words], check=True, stdout=subprocess.DEVNULL)
