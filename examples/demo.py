"""What `make demo` runs: a broker, 20,000 payments, a pipeline of SQL, Python and SQL on Spark, and a look at what came out; then a
pipeline that leads back into itself: rings of accounts that grow together while links between them come in.

Whether it is right is found out by computing the same in plain Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from graphstream import live
from payments.generate import payments
from payments.judging import judge
from rich.console import Console
from rich.table import Table

from whorl.broker import Broker

PIPELINE = str(Path(__file__).parent / "payments" / "pipeline.yaml")
COUNT = 20_000
CENT = Decimal("0.01")
FACTOR = {"EUR": Decimal("1.0"), "USD": Decimal("0.9")}
Row = dict[str, Any]
console = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Outcome:
    """What there is to compare."""

    accounts: dict[str, Row]
    """By account: its row of the topic `accounts`, the latest one."""
    blocked: Counter[tuple[str, Decimal]]
    dead: int

    @property
    def judged(self) -> int:
        return sum(row["payments"] for row in self.accounts.values())


def whorl(*arguments: str, shown: bool = True) -> str:
    """Runs the command that a user would type, and shows it; gives back its output where that is not shown."""
    if shown:
        console.print(f"\n[bold cyan]$ whorl {' '.join(arguments)}[/]")
    output = None if shown else subprocess.PIPE
    return (
        subprocess.run([sys.executable, "-m", "whorl", *arguments], check=True, text=True, stdout=output).stdout or ""
    )


def rows(topic: str, address: str) -> list[Row]:
    lines = whorl("consume", topic, "--json", "--broker", address, shown=False).splitlines()
    return [json.loads(line, parse_float=Decimal)["value"] for line in lines]


def ran(address: str, checkpoints: str) -> Outcome:
    """By the pipeline."""
    whorl("run", PIPELINE, "--until-caught-up", "--broker", address, "--set", f"checkpoints={checkpoints}")
    accounts = {row["account"]: _typed(row) for row in rows("accounts", address)}
    blocked = Counter((row["account"], Decimal(row["euros"])) for row in rows("blocked", address))
    return Outcome(accounts, blocked, len(rows("payments.dead", address)))


def _typed(row: Row) -> Row:
    return {**row, "euros": Decimal(row["euros"]), "latest": datetime.fromisoformat(row["latest"])}


def by_hand(given: Iterable[Row]) -> Outcome:
    """In plain Python."""
    accounts: dict[str, Row] = {}
    blocked: Counter[tuple[str, Decimal]] = Counter()
    dead = 0
    for payment in (each for each in given if each["amount"] > 0):
        exact = Decimal(str(payment["amount"])) * FACTOR[payment["currency"]]
        row = {**payment, "euros": exact.quantize(CENT, ROUND_HALF_UP), "at": datetime.fromisoformat(payment["at"])}
        try:
            verdict = judge(row)
        except ValueError:
            dead += 1
            continue
        _count(accounts, verdict)
        if verdict["verdict"] == "block":
            blocked[verdict["account"], verdict["euros"]] += 1
    return Outcome(accounts, blocked, dead)


def _count(accounts: dict[str, Row], verdict: Row) -> None:
    none = {"payments": 0, "euros": Decimal(0), "blocked": 0, "latest": verdict["at"]}
    before = accounts.get(verdict["account"], none)
    accounts[verdict["account"]] = {
        "account": verdict["account"],
        "payments": before["payments"] + 1,
        "euros": before["euros"] + verdict["euros"],
        "blocked": before["blocked"] + (verdict["verdict"] == "block"),
        "latest": max(before["latest"], verdict["at"]),
    }


def top(accounts: dict[str, Row], count: int) -> Table:
    table = Table(title=f"topic 'accounts': the largest {count} of {len(accounts)}", title_justify="left")
    for name in ("account", "payments", "euros", "blocked", "latest"):
        table.add_column(name, justify="left" if name == "account" else "right")
    for row in sorted(accounts.values(), key=lambda row: -row["euros"])[:count]:
        numbers = (str(row["payments"]), f"{row['euros']:,.2f}", str(row["blocked"]))
        table.add_row(row["account"], *numbers, f"{row['latest']:%H:%M:%S}")
    return table


def verdict_on(found: Outcome, expected: Outcome, checks: int, rings: tuple[bool, str]) -> tuple[bool, str]:
    """`rings`: what was found out about the other pipeline."""
    right = rings[0] and found == expected and found.judged + checks + found.dead == COUNT
    differing = sum(found.accounts.get(name) != row for name, row in expected.accounts.items())
    compared = "as plain Python has them" if not differing else f"{differing} of them not as plain Python has them"
    told = (
        f"{COUNT} payments in, {checks} of nothing left out + {found.judged} judged + {found.dead} dead letters = "
        f"{found.judged + checks + found.dead}; {found.blocked.total()} blocked; {len(found.accounts)} accounts, {compared}; {rings[1]}"
    )
    return right, f"demo {'ok' if right else 'failed'}: {told}"


def main() -> int:
    given = list(payments(COUNT))
    with tempfile.TemporaryDirectory(prefix="whorl-demo-") as folder:
        data = Path(folder) / "payments.jsonl"
        data.write_text("".join(json.dumps(payment) + "\n" for payment in given))
        whorl("broker", "start", "--data", f"{folder}/broker")
        broker = Broker(Path(folder) / "broker")
        try:
            whorl("plan", PIPELINE)
            whorl("topics", "create", "payments", "--partitions", "4", "--broker", broker.address)
            whorl("produce", "payments", str(data), "--key", "account", "--broker", broker.address)
            found = ran(broker.address, f"{folder}/checkpoints")
            whorl("plan", live.PIPELINE)
            rings = live.watch(broker.address, Path(folder), console)
        finally:
            broker.stop()
    console.print(top(found.accounts, 8))
    right, told = verdict_on(found, by_hand(given), sum(payment["amount"] == 0 for payment in given), rings)
    console.print("`make serve` runs both as jobs of the job server, and says where to open its web pages.")
    console.print(told)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
